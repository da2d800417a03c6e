"""What a node knows of itself: the file site.toml, which never leaves it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from fedadp.data import Source
from fedadp.errors import require
from fedadp.experiment import REGISTRIES
from fedadp.hints import Strict
from fedadp.settings import build
from fedadp.tables import read_toml


@dataclass(frozen=True, kw_only=True)
class Site(Strict):
    """A node's data, what to call it, and its number if its node-config does not say."""

    data: Source
    name: str = ""
    number: int | None = None

    def __post_init__(self) -> None:
        number = self.number
        require(number is None or number >= 0, "number", number, "a whole number from 0 up")


def read_site(path: Path) -> Site:
    """The file, read strictly."""
    return build(Site, read_toml(path), path.name, REGISTRIES)
