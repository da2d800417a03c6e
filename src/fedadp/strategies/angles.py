"""Smoothed angles: what FedAdp remembers, kept by node and never by place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import torch
from torch import Tensor

from fedadp.core import Cohort

Smoothing = Literal["participations", "rounds"] | float


def _none(dtype: torch.dtype) -> Tensor:
    return torch.zeros(0, dtype=dtype)


@dataclass(frozen=True, eq=False)
class Angles:
    """Each node's smoothed angle, and how often it took part."""

    rounds: int = 0
    nodes: Tensor = field(default_factory=lambda: _none(torch.int64))  # (N,) sorted
    smoothed: Tensor = field(default_factory=lambda: _none(torch.float64))  # (N,)
    seen: Tensor = field(default_factory=lambda: _none(torch.int64))  # (N,)

    def average_in(self, nodes: Sequence[int], angle: Tensor, by: Smoothing) -> Angles:
        """Equation 9, for the nodes of one round."""
        ids = torch.tensor(nodes, dtype=torch.int64)
        known = torch.unique(torch.cat([self.nodes, ids]))  # sorted
        before = torch.searchsorted(known, self.nodes)
        smoothed = torch.zeros(len(known), dtype=torch.float64).index_put((before,), self.smoothed)
        seen = torch.zeros(len(known), dtype=torch.int64).index_put((before,), self.seen)
        now = torch.searchsorted(known, ids)
        t = (seen[now] + 1).double()
        if by != "participations":  # an exponential average is eq. 9 whose t stands still
            t = torch.full_like(t, self.rounds + 1 if by == "rounds" else 1 / float(by))
        t = torch.where(seen[now] == 0, 1.0, t)  # a node starts from its own angle
        smoothed[now] = (t - 1) / t * smoothed[now] + angle / t  # eq. 9
        seen[now] += 1
        return Angles(self.rounds + 1, known, smoothed, seen)

    def of(self, nodes: Sequence[int]) -> Tensor:  # (K,)
        """The smoothed angles of these nodes; pi/2 for one that was never seen."""
        smoothed = torch.full((len(nodes),), torch.pi / 2, dtype=torch.float64)
        ids = torch.tensor(nodes, dtype=torch.int64)
        place = torch.searchsorted(self.nodes, ids)
        there = torch.isin(ids, self.nodes)
        smoothed[there] = self.smoothed[place[there]]
        return smoothed


class Observed(NamedTuple):
    """The angles of a round, instantaneous and smoothed, and the memory that includes them."""

    angle: Tensor  # (K,)
    smoothed: Tensor  # (K,)
    state: Angles


def observe(state: Angles, cohort: Cohort, by: Smoothing) -> Observed:
    """Equations 8 and 9; a round whose mean update is zero has no direction and teaches nothing."""
    geometry = cohort.geometry()
    after = state
    if geometry.mean_norm > 0:
        after = state.average_in(cohort.nodes, geometry.angles, by)
    return Observed(geometry.angles, after.of(cohort.nodes), after)
