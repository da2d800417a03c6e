"""Data that is in memory already."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fedadp.core import Examples
from fedadp.data.dataset import Dataset
from fedadp.data.sources.base import Source, class_count, examples
from fedadp.errors import DataError


@dataclass(frozen=True, eq=False)
class Arrays(Source):
    """Your own arrays in memory, numpy or torch, as (x, y) pairs: from Python only.

    >>> import numpy as np
    >>> x, y = np.random.rand(6, 4), np.array([0, 1, 2, 0, 1, 2])
    >>> Arrays(train=(x, y), test=(x, y)).load().classes
    3
    """

    train: Any  # Examples, or a pair (x, y)
    test: Any
    classes: int | None = None  # None: as many as the highest label needs

    def load(self) -> Dataset:
        train, test = _part("train", self.train), _part("test", self.test)
        classes = class_count(train, test) if self.classes is None else self.classes
        return Dataset("arrays", train, test, classes)


def _part(name: str, part: Any) -> Examples:
    pair = isinstance(part, tuple | list) and len(part) == 2
    if not isinstance(part, Examples) and not (pair and not isinstance(part[0], str)):
        raise DataError(
            f"data.{name}: no arrays are here (a file keeps only their sums); hand in (x, y)"
        )
    x, y = (part.x, part.y) if isinstance(part, Examples) else part
    return examples(f"arrays.{name}", x, y)
