"""What a row of the table of bad input is, and a small experiment to spoil."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

PARTS = {
    "rounds": "1",
    "model": '"mlr"',
    "data": '{name = "synthetic", examples = 60, test = 20, classes = 3, shape = [4]}',
    "partition": '{name = "iid", nodes = 3}',
}


def small(**parts: str) -> str:
    """An experiment that takes a moment, with some of its parts replaced."""
    return "".join(f"{name} = {part}\n" for name, part in {**PARTS, **parts}.items())


@dataclass(frozen=True)
class Bad:
    """What is given, and what the sentence must say: the place, the value, the way out."""

    name: str
    toml: str | bytes
    place: str
    value: str
    way: str
    words: Sequence[str] = ("run", "{file}", "--out", "{out}", "--quiet")
    prepare: Callable[[Path], None] = lambda folder: None
