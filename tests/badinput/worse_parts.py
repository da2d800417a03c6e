"""Parts of somebody's own that are worse: they exit, hold themselves, or answer in another kind."""

from dataclasses import dataclass

import torch
from torch import nn

from fedadp import Weighed, Weighting
from fedadp.data import Partition


class Lazy(nn.Sequential):
    def __init__(self):
        super().__init__(nn.LazyLinear(3))


class Clouded(nn.Linear):
    def __init__(self):
        super().__init__(4, 3)
        self.register_buffer("seen", torch.tensor(float("nan")))


class Quits(nn.Linear):
    def __init__(self):
        super().__init__(4, 3)

    def forward(self, x):
        raise SystemExit(0)


@dataclass(frozen=True)
class Leaves(Weighting):
    def init(self):
        return ()

    def weigh(self, state, cohort):
        raise SystemExit(3)


@dataclass(frozen=True)
class Imaginary(Leaves):
    def weigh(self, state, cohort):
        return Weighed(cohort.shares * 1j, state, {})


@dataclass(frozen=True)
class Circles(Leaves):
    def weigh(self, state, cohort):
        notes = {}
        notes["notes"] = notes
        return Weighed(cohort.shares, state, notes)


@dataclass(frozen=True)
class CirclesInState(Leaves):
    def weigh(self, state, cohort):
        kept = []
        kept.append(kept)
        return Weighed(cohort.shares, kept, {})


@dataclass(frozen=True)
class Listed(Partition):
    @property
    def nodes(self):
        return 2

    def split(self, labels, classes, seed):
        return [[0, 1], [2, 3]]


@dataclass(frozen=True)
class Floats(Listed):
    def split(self, labels, classes, seed):
        return [torch.tensor([0.0, 1.0]), torch.tensor([2.0, 3.0])]


@dataclass(frozen=True)
class Uncounted(Listed):
    def split(self, labels, classes, seed):
        return 7
