"""Norm clipping: Sun et al., "Can You Really Backdoor Federated Learning?", 2019."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from fedadp.cohort import exact_sum
from fedadp.core import Cohort, Step, Strategy, Weighting, Wrapping
from fedadp.errors import SettingError, require
from fedadp.scaled import Scaled
from fedadp.strategies.fedavg import FedAvg


@dataclass(frozen=True)
class Robust(Wrapping[Any]):
    """Cut long updates, and claims of many examples, down to what is usual in the round.

    >>> from fedadp import Cohort, FedAdp, Robust
    >>> cohort = Cohort.of([0, 1, 2], [[1.0, 0.1], [1.0, -0.1], [-10.0, 0.0]], [600, 600, 600])
    >>> step = Robust(FedAdp()).step(FedAdp().init(), cohort)
    >>> [round(weight, 2) for weight in step.notes["weight"].tolist()]
    [0.5, 0.5, 0.0]
    """

    inner: Strategy[Any] = field(default_factory=FedAvg)
    examples_cap: float = 3.0  # a node counts as at most so many times the median of examples
    weight_cap: float = 1.0  # no node weighs more, as 0.2; what is over goes to the others

    def __post_init__(self) -> None:
        require(self.examples_cap >= 1, "examples_cap", self.examples_cap, "a number from 1 up")
        cap = self.weight_cap
        require(0 < cap <= 1, "weight_cap", cap, "a number above 0, at most 1")
        if cap < 1 and not isinstance(self.inner, Weighting):
            name = type(self.inner).__name__
            raise SettingError("weight_cap", f"{name} gives no weights to cap; put it around this")

    def step(self, state: Any, cohort: Cohort) -> Step[Any]:
        kept = shortening(cohort.geometry().norms)
        usual = float(cohort.examples.median())
        examples = cohort.examples.clamp(max=self.examples_cap * usual)
        seen = Scaled(cohort, kept, examples)
        if isinstance(self.inner, Weighting) and self.weight_cap < 1:
            weights, state, notes = self.inner.weigh(state, seen)
            weights = capped(weights, self.weight_cap)
            notes = {**notes, "weight": weights}
            delta = seen.combine(weights)
        else:
            delta, state, notes = self.inner.step(state, seen)
        return Step(delta, state, {**notes, "kept": kept})

    def statistics(self, cohort: Cohort) -> Tensor:
        """Statistics have no norm to be clipped by: each is the median of what nodes sent."""
        return cohort.buffers.median(dim=0).values


def shortening(norms: Tensor) -> Tensor:  # (K,)
    """What part of each update is kept so that none is longer than the median.

    >>> shortening(torch.tensor([1.0, 2.0, 8.0])).tolist()
    [1.0, 1.0, 0.25]
    """
    usual = norms.median()  # of an even number the lower one: attackers are the long ones
    return torch.where(norms > usual, usual / norms, 1.0)


def capped(weights: Tensor, cap: float) -> Tensor:  # (K,)
    """Weights of at most `cap`; what is over goes to the others, in proportion to theirs.

    >>> capped(torch.tensor([0.75, 0.25, 0.0], dtype=torch.float64), 0.5).tolist()
    [0.5, 0.5, 0.0]
    """
    cap = max(cap, 1 / len(weights))  # few nodes must weigh more to sum to 1
    full = torch.zeros_like(weights, dtype=torch.bool)
    while bool((weights > cap).any()):
        full = full | (weights > cap)
        rest = weights.masked_fill(full, 0.0)
        if not rest.any():  # the others weigh nothing, so they share alike
            rest = (~full).double()
        left = max(0.0, 1 - cap * int(full.sum()))
        weights = (rest / (exact_sum(rest) or 1.0) * left).masked_fill(full, cap)
    return weights
