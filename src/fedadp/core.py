"""The vocabulary: what a node is told, what a strategy answers, and what a strategy is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

from torch import Tensor

from fedadp.cohort import Cohort
from fedadp.geometry import Geometry
from fedadp.hints import Strict
from fedadp.parallel import one_thread

__all__ = [
    "Cohort",
    "Examples",
    "Geometry",
    "Instructions",
    "Step",
    "Strategy",
    "Weighed",
    "Weighting",
    "Wrapping",
]

S = TypeVar("S")
Notes = Mapping[str, Any]  # per-node tensors (K,) and single numbers, by name


@dataclass(frozen=True, kw_only=True)
class Instructions:
    """What a node must do, as data, so that it crosses a thread or a network unchanged."""

    round: int
    seed: int = 0
    learning_rate: float = 0.01
    epochs: int = 1
    steps: int | None = None  # instead of epochs
    batch_size: int | None = 32  # None: all examples at once
    momentum: float = 0.0
    weight_decay: float = 0.0
    proximal: float = 0.0  # FedProx's mu


@dataclass(frozen=True, eq=False)
class Examples:
    """What a node learns from."""

    x: Tensor  # (D, ...) inputs
    y: Tensor  # (D,) labels

    def __len__(self) -> int:
        return len(self.y)


class Step(NamedTuple, Generic[S]):
    """What a strategy makes of a round."""

    delta: Tensor  # (P,)
    state: S
    notes: Notes


class Weighed(NamedTuple, Generic[S]):
    """What a strategy thinks of each node."""

    weights: Tensor  # (K,) float64, at least 0, sums to 1
    state: S
    notes: Notes


class Strategy(Strict, ABC, Generic[S]):
    """Turns the geometry of a round into a step. Frozen: state goes in and comes out."""

    @abstractmethod
    def init(self) -> S:
        """The state before the first round."""

    @abstractmethod
    def step(self, state: S, cohort: Cohort) -> Step[S]:
        """From this round's updates to one step of the global model."""

    def instruct(self, instructions: Instructions) -> Instructions:
        """What the nodes must do differently under this strategy."""
        return instructions

    def statistics(self, cohort: Cohort) -> Tensor:  # (Q,)
        """What becomes of what has no angle, such as BatchNorm's statistics: the mean by share."""
        return cohort.mean_buffers()


class Weighting(Strategy[S]):
    """A strategy whose step is a weighted average of the updates."""

    @abstractmethod
    def weigh(self, state: S, cohort: Cohort) -> Weighed[S]:
        """A weight for each node, from geometry alone."""

    def step(self, state: S, cohort: Cohort) -> Step[S]:
        with one_thread():  # K numbers are too few to share among threads
            weights, state, notes = self.weigh(state, cohort)
            return Step(cohort.combine(weights), state, {"weight": weights, **notes})


class Wrapping(Strategy[S]):
    """A strategy around another one: `inner` decides, the wrapper changes how."""

    inner: Strategy[Any]

    def init(self) -> S:
        return self.inner.init()  # type: ignore[no-any-return]

    def instruct(self, instructions: Instructions) -> Instructions:
        return self.inner.instruct(instructions)

    def statistics(self, cohort: Cohort) -> Tensor:
        return self.inner.statistics(cohort)

    def step(self, state: S, cohort: Cohort) -> Step[S]:
        return self.inner.step(state, cohort)
