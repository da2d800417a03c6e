"""Data made of random numbers, for trying things out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from fedadp.core import Examples
from fedadp.data.dataset import Dataset
from fedadp.data.sources.base import Source
from fedadp.errors import require
from fedadp.randomness import generator

MOST_NUMBERS = 2**30  # 4 GiB of floats


@dataclass(frozen=True)
class Synthetic(Source):
    """A Gaussian cloud per class: no download, any shape, as hard as you like.

    >>> Synthetic(examples=100, shape=[1, 28, 28]).load().train.x.shape
    torch.Size([100, 1, 28, 28])
    """

    examples: int = 10_000
    test: int = 1_000
    shape: Sequence[int] = (20,)
    classes: int = 10
    separation: float = 4.0  # between two clouds' centres, typically, in standard deviations
    seed: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", tuple(self.shape))  # a list from TOML cannot be hashed
        require(self.examples >= 1, "examples", self.examples, "a whole number from 1 up")
        require(self.test >= 1, "test", self.test, "a whole number from 1 up")
        positive = len(self.shape) > 0 and all(side >= 1 for side in self.shape)
        require(positive, "shape", self.shape, "one or more whole numbers from 1 up")
        require(self.classes >= 2, "classes", self.classes, "a whole number from 2 up")
        size = math.prod(self.shape)
        require(
            size <= MOST_NUMBERS, "shape", self.shape, f"at most {MOST_NUMBERS} numbers an input"
        )
        for name in ("examples", "test", "classes"):
            count, most = getattr(self, name), MOST_NUMBERS // size
            require(count <= most, name, count, f"at most {most} with inputs of {size} numbers")
        finite = 0 <= self.separation < float("inf")
        require(finite, "separation", self.separation, "a number from 0 up")

    def load(self) -> Dataset:
        draw = generator(self.seed, "synthetic centres")
        directions = torch.randn(self.classes, *self.shape, generator=draw).flatten(1)
        directions /= directions.norm(dim=1, keepdim=True)
        # two random unit vectors are about sqrt(2) apart
        centres = (directions * self.separation / 2**0.5).reshape(self.classes, *self.shape)
        train = self._part("synthetic train", self.examples, centres)
        test = self._part("synthetic test", self.test, centres)
        return Dataset("synthetic", train, test, self.classes)

    def _part(self, purpose: str, count: int, centres: Tensor) -> Examples:
        draw = generator(self.seed, purpose)
        y = torch.randperm(count, generator=draw) % self.classes  # classes of equal size
        return Examples(centres[y] + torch.randn(count, *self.shape, generator=draw), y)
