"""Server momentum: Hsu, Qi and Brown, "Measuring the Effects of Non-Identical Data", 2019."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from fedadp.core import Cohort, Step, Strategy, Wrapping
from fedadp.errors import require
from fedadp.strategies.fedavg import FedAvg


@dataclass(frozen=True, eq=False)
class Velocity:
    """The steps so far, fading, beside the state of the strategy inside."""

    inner: Any
    velocity: Tensor = field(default_factory=lambda: torch.zeros(()))  # (P,) once there was a step


@dataclass(frozen=True)
class Momentum(Wrapping[Velocity]):
    """Keep a fading part of the last rounds' steps: v = beta v + delta.

    >>> from fedadp import FedAdp, Momentum
    >>> Momentum(FedAdp(alpha=3.0))
    Momentum(inner=FedAdp(alpha=3.0, smoothing='participations'), beta=0.9)
    """

    inner: Strategy[Any] = field(default_factory=FedAvg)
    beta: float = 0.9

    def __post_init__(self) -> None:
        require(0 <= self.beta < 1, "beta", self.beta, "a number from 0 up and below 1")

    def init(self) -> Velocity:
        return Velocity(self.inner.init())

    def step(self, state: Velocity, cohort: Cohort) -> Step[Velocity]:
        delta, inner, notes = self.inner.step(state.inner, cohort)
        velocity = self.beta * state.velocity + delta
        return Step(velocity, Velocity(inner, velocity), notes)
