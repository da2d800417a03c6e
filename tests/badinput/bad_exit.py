"""Somebody's script, that runs when it is imported."""

raise SystemExit("usage: bad_exit FILE")
