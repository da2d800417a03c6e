"""FedAdp: Wu and Wang, "Fast-Convergent Federated Learning with Adaptive Weighting", 2021."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from fedadp.cohort import exact_sum
from fedadp.core import Cohort, Weighed, Weighting
from fedadp.errors import require
from fedadp.strategies.angles import Angles, Smoothing, observe


@dataclass(frozen=True)
class FedAdp(Weighting[Angles]):
    """Weigh each node by how well its update points where the average does.

    >>> from fedadp import Cohort, FedAdp
    >>> cohort = Cohort.of([0, 1, 2], [[1.0, 0.1], [1.0, -0.1], [-0.2, 1.0]], [600, 600, 600])
    >>> [round(weight, 2) for weight in FedAdp().weigh(FedAdp().init(), cohort).weights.tolist()]
    [0.5, 0.49, 0.01]
    """

    alpha: float = 5.0  # how sharply small angles are told from large ones
    # what eq. 9 counts: a node's own rounds, or all; or what part the newest angle has, as 0.3
    smoothing: Smoothing = "participations"

    def __post_init__(self) -> None:
        require(0 < self.alpha <= 100, "alpha", self.alpha, "a number above 0, at most 100")
        by = self.smoothing
        known = by in ("participations", "rounds") if isinstance(by, str) else 0 < by <= 1
        wanted = "'participations', 'rounds', or a number above 0 and up to 1"
        require(known, "smoothing", by, wanted)

    def init(self) -> Angles:
        return Angles()

    def weigh(self, state: Angles, cohort: Cohort) -> Weighed[Angles]:
        angle, smoothed, after = observe(state, cohort, self.smoothing)
        # the share covers both branches of eq. 11: equal ones cancel out
        parts = cohort.shares * torch.exp(self.gain(smoothed))
        weights = parts / exact_sum(parts)  # eq. 11
        if cohort.geometry().mean_norm == 0:  # no direction to agree with
            weights = cohort.shares
        return Weighed(weights, after, {"angle": angle, "smoothed_angle": smoothed})

    def gain(self, smoothed: Tensor) -> Tensor:
        """The Gompertz function: alpha for a small angle, close to 0 for a right one."""
        return self.alpha * (1 - torch.exp(-torch.exp(-self.alpha * (smoothed - 1))))  # eq. 10
