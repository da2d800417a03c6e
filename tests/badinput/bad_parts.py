"""Models, data, partitions and strategies of somebody's own, each with one thing wrong."""

from dataclasses import dataclass

import torch
from torch import nn

from fedadp import Examples, Step, Strategy, Weighed, Weighting
from fedadp.data import Dataset, Partition, Source

# models: three classes, inputs of shape (4,)


class Empty(nn.Module):
    def forward(self, x):
        return x


class Net(nn.Linear):
    def __init__(self, inputs=4, outputs=3):
        super().__init__(inputs, outputs)


class Frozen(Net):
    def __init__(self):
        super().__init__()
        self.requires_grad_(False)


class TwoTypes(nn.Sequential):
    def __init__(self):
        super().__init__(nn.Linear(4, 4), nn.Linear(4, 3).double())


class Complex(Net):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(3, 4, dtype=torch.complex64))
        self.bias = None


class Nan(Net):
    def __init__(self):
        super().__init__()
        nn.init.constant_(self.weight, float("nan"))


class TwoOutputs(Net):
    def __init__(self):
        super().__init__(outputs=2)


class OtherInputs(Net):
    def __init__(self):
        super().__init__(inputs=5)


class Flattened(Net):
    def forward(self, x):
        return super().forward(x).flatten()


class Tupled(Net):
    def forward(self, x):
        return (super().forward(x),)


class Detached(Net):
    def forward(self, x):
        return super().forward(x).detach()


class Dropping(Net):
    def forward(self, x):
        raise RuntimeError("it fell\nand broke")


class Unmakeable(nn.Module):
    def __init__(self):
        raise ValueError("no such luck\nfor you")


class Wide(Net):
    def __init__(self, width):
        super().__init__(width)


MADE = Net()


def NotAModule():  # noqa: N802
    return 3


# data


@dataclass(frozen=True)
class Spoilt(Source):
    def load(self):
        x, y = torch.randn(60, 4), torch.arange(60) % 3
        self.spoil(x, y)
        return Dataset("spoilt", Examples(x, y), Examples(x[:20], y[:20]), 3)


@dataclass(frozen=True)
class Clouded(Spoilt):
    def spoil(self, x, y):
        x[7, 2] = float("nan")


@dataclass(frozen=True)
class Mislabelled(Spoilt):
    def spoil(self, x, y):
        y[7] = 9


@dataclass(frozen=True)
class Raising(Source):
    def load(self):
        raise OSError("the disk is on fire")


@dataclass(frozen=True)
class Nothing(Source):
    def load(self):
        return None


@dataclass(frozen=True)
class Demanding(Nothing):
    where: str


@dataclass(frozen=True)
class Dealt(Partition):
    nodes: int = 3

    def split(self, labels, classes, seed):
        return self.deal([torch.arange(0, 20), torch.arange(20, 40), torch.arange(40, 60)])


@dataclass(frozen=True)
class OneStarves(Dealt):
    def deal(self, parts):
        return (parts[0], parts[1][:0], parts[2])


@dataclass(frozen=True)
class TooFar(Dealt):
    def deal(self, parts):
        return (parts[0], torch.tensor([3, 99]), parts[2])


@dataclass(frozen=True)
class Nobody(Dealt):
    def deal(self, parts):
        return ()


@dataclass(frozen=True)
class Dropped(Dealt):
    def deal(self, parts):
        raise IndexError("the pack slipped")


# strategies


@dataclass(frozen=True)
class Unfinished(Weighting):
    def init(self):
        return ()


@dataclass(frozen=True)
class Own(Weighting):
    def init(self):
        return ()

    def weigh(self, state, cohort):
        return Weighed(self.weights(cohort.shares), state, {})

    def weights(self, shares):
        return shares


@dataclass(frozen=True)
class Raises(Own):
    def weigh(self, state, cohort):
        raise ValueError("out of ideas\nfor today")


@dataclass(frozen=True)
class NoState(Own):
    def init(self):
        raise ValueError("no memory")


@dataclass(frozen=True)
class Silent(Own):
    def instruct(self, instructions):
        return None


@dataclass(frozen=True)
class NanWeights(Own):
    def weights(self, shares):
        return shares * float("nan")


@dataclass(frozen=True)
class TooFew(Own):
    def weights(self, shares):
        return shares[:2]


@dataclass(frozen=True)
class Negative(Own):
    def weights(self, shares):
        return torch.tensor([-1.0, 1.0, 1.0], dtype=torch.float64)


@dataclass(frozen=True)
class SumsToTwo(Own):
    def weights(self, shares):
        return 2 * shares


@dataclass(frozen=True)
class Listed(Own):
    def weights(self, shares):
        return shares.tolist()


@dataclass(frozen=True)
class Speechless(Own):
    def weigh(self, state, cohort):
        return None


@dataclass(frozen=True)
class ShortStep(Strategy):
    def init(self):
        return ()

    def step(self, state, cohort):
        return Step(self.delta(cohort), state, {})

    def delta(self, cohort):
        return torch.zeros(2)


@dataclass(frozen=True)
class NanStep(ShortStep):
    def delta(self, cohort):
        return torch.full((cohort.size,), float("nan"))


@dataclass(frozen=True)
class Unkeepable(Own):
    def weigh(self, state, cohort):
        return Weighed(cohort.shares, object(), {})
