"""Data that is in memory already."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fedadp.core import Examples
from fedadp.data.dataset import Dataset
from fedadp.data.sources.base import Source, class_count, examples


@dataclass(frozen=True, eq=False)
class Arrays(Source):
    """Your own arrays, numpy or torch, as (x, y) pairs.

    >>> import numpy as np
    >>> x, y = np.random.rand(6, 4), np.array([0, 1, 2, 0, 1, 2])
    >>> Arrays(train=(x, y), test=(x, y)).load().classes
    3
    """

    train: Examples | tuple[Any, Any]
    test: Examples | tuple[Any, Any]
    classes: int | None = None  # None: as many as the highest label needs

    def load(self) -> Dataset:
        train, test = _part("train", self.train), _part("test", self.test)
        classes = class_count(train, test) if self.classes is None else self.classes
        return Dataset("arrays", train, test, classes)


def _part(name: str, part: Examples | tuple[Any, Any]) -> Examples:
    x, y = (part.x, part.y) if isinstance(part, Examples) else part
    return examples(f"arrays.{name}", x, y)
