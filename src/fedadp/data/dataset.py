"""A data set: examples to learn from, others to be tested on, and how inputs are prepared."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from fedadp.core import Examples
from fedadp.errors import DataError


@dataclass(frozen=True, eq=False)
class Dataset:
    """Examples to learn from, and others to be tested on.

    >>> import torch
    >>> from fedadp import Examples
    >>> some = Examples(torch.full((2, 1, 4, 4), 255, dtype=torch.uint8), torch.tensor([0, 1]))
    >>> Dataset("white", some, some, classes=2, mean=0.5, std=0.25).prepare(some.x).max().item()
    2.0
    """

    name: str
    train: Examples
    test: Examples
    classes: int
    mean: float = 0.0
    std: float = 1.0

    def __post_init__(self) -> None:
        if self.classes < 1:
            raise DataError(f"{self.name}: {self.classes} classes are too few; give 1 or more")
        _check(f"{self.name}: the training part", self.train, self.classes)
        _check(f"{self.name}: the test part", self.test, self.classes)
        if not (math.isfinite(self.mean) and math.isfinite(self.std) and self.std > 0):
            raise DataError(
                f"{self.name}: inputs cannot be normalised by mean {self.mean:g} and standard "
                f"deviation {self.std:g}; both must be finite, and the second above 0"
            )
        train, test = tuple(self.train.x.shape[1:]), tuple(self.test.x.shape[1:])
        if train != test:
            raise DataError(
                f"{self.name}: training inputs have shape {train} and test inputs {test}; "
                "they must be alike"
            )

    def prepare(self, x: Tensor) -> Tensor:
        """Inputs as a model takes them: bytes become normalised floats, floats stay."""
        if x.dtype == torch.uint8:
            return x.float().div_(255).sub_(self.mean).div_(self.std)
        return x.float()


def _check(part: str, examples: Examples, classes: int) -> None:
    x, y = examples.x, examples.y
    if x.dim() < 2 or y.dim() != 1 or len(x) != len(y):
        raise DataError(
            f"{part} has inputs of shape {tuple(x.shape)} and labels of shape {tuple(y.shape)}; "
            "inputs (D, ...) and labels (D,) are needed"
        )
    if x.numel() == 0:
        raise DataError(
            f"{part} of shape {tuple(x.shape)} is empty; at least one example is needed"
        )
    if y.dtype != torch.int64:
        raise DataError(f"{part} has labels of type {y.dtype}; torch.int64 is needed")
    if x.dtype not in (torch.uint8, torch.float32):
        raise DataError(f"{part} has inputs of type {x.dtype}; uint8 or float32 is needed")
    low, high = int(y.min()), int(y.max())
    if low < 0 or high >= classes:
        label = low if low < 0 else high
        raise DataError(f"{part} has a label {label}; {classes} classes go from 0 to {classes - 1}")
    if x.dtype == torch.float32 and not bool(x.isfinite().all()):
        odd = int(x.flatten(1).isfinite().all(dim=1).logical_not().nonzero()[0])
        raise DataError(f"{part} has a value that is not finite in example {odd}; leave it out")
