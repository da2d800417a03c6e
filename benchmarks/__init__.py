"""Ours and its peers, measured side by side."""
