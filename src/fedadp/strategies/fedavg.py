"""FedAvg: McMahan et al., "Communication-Efficient Learning of Deep Networks", 2017."""

from __future__ import annotations

from dataclasses import dataclass

from fedadp.core import Cohort, Weighed, Weighting
from fedadp.strategies.angles import Angles, observe


@dataclass(frozen=True)
class FedAvg(Weighting[Angles]):
    """Weigh each node by its share of the examples.

    The angles are kept all the same, so that what FedAdp would have seen can be drawn beside it.

    >>> from fedadp import Cohort, FedAvg
    >>> cohort = Cohort.of([0, 1], [[1.0, 0.0], [0.0, 1.0]], [600, 200])
    >>> FedAvg().weigh(FedAvg().init(), cohort).weights.tolist()
    [0.75, 0.25]
    """

    def init(self) -> Angles:
        return Angles()

    def weigh(self, state: Angles, cohort: Cohort) -> Weighed[Angles]:
        angle, smoothed, after = observe(state, cohort, "participations")
        return Weighed(cohort.shares, after, {"angle": angle, "smoothed_angle": smoothed})  # eq. 4
