"""What every complaint is, whatever it is about."""

from __future__ import annotations


def one_sentence(error: Exception) -> None:
    """On one line, of a length that somebody reads, and nothing that a terminal would obey."""
    words = str(error)
    assert words.isprintable()
    assert 0 < len(words) < 2000
