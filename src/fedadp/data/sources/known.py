"""Data sets that are fetched by name."""

from __future__ import annotations

from dataclasses import dataclass

from fedadp.data.dataset import Dataset
from fedadp.data.fetch import fetch
from fedadp.data.sources.base import Source
from fedadp.data.sources.idx import read_folder


@dataclass(frozen=True)
class Mnist(Source):
    """Handwritten digits: 60,000 to learn from and 10,000 to be tested on, 28 x 28, 10 classes."""

    normalise: bool = True  # by the mean and standard deviation of the training inputs

    def load(self) -> Dataset:
        return _load("mnist", 0.1307, 0.3081, self.normalise)


@dataclass(frozen=True)
class FashionMnist(Source):
    """Pictures of clothes, in the format of MNIST and harder."""

    normalise: bool = True  # by the mean and standard deviation of the training inputs

    def load(self) -> Dataset:
        return _load("fashion-mnist", 0.2860, 0.3530, self.normalise)


def _load(name: str, mean: float, std: float, normalise: bool) -> Dataset:
    train, test = read_folder(fetch(name))
    return Dataset(name, train, test, 10, *((mean, std) if normalise else (0.0, 1.0)))
