"""What surrounds a federation on real machines: its app, keys, processes and proxy."""
