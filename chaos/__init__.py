"""A federation broken in every way we know of, from a seed: nothing may be lost."""
