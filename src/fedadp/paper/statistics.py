"""Medians and intervals over seeds, with runs that never arrived counted and not dropped."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median, stdev

# the 97.5 % quantile of Student's t by degrees of freedom; beyond, the normal distribution's + 1 %
STUDENT = (
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
    2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
)  # fmt: skip
NORMAL = 1.98


@dataclass(frozen=True)
class Estimate:
    """A median over seeds with its 95 % interval; none from a single seed."""

    middle: float
    low: float | None
    high: float | None  # infinite where a run never arrived
    seeds: int

    def holds(self, value: float) -> bool | None:
        """Whether the interval holds a value; None where there is no interval."""
        if self.low is None or self.high is None:
            return None
        return self.low <= value <= self.high


def interval(values: Sequence[float]) -> tuple[float, float] | None:
    """Student's 95 % interval for the mean, from two values on.

    >>> low, high = interval([1.0, 2.0, 3.0])
    >>> round(low, 3), round(high, 3)
    (-0.484, 4.484)
    """
    if len(values) < 2:
        return None
    freedom = len(values) - 1
    factor = STUDENT[freedom - 1] if freedom <= len(STUDENT) else NORMAL
    half = factor * stdev(values) / math.sqrt(len(values))
    return fmean(values) - half, fmean(values) + half


def rounds(counts: Sequence[int | None], most: int) -> Estimate:
    """Rounds to a target: the interval is Student's, on logarithms.

    A run that did not arrive within `most` rounds would have taken more: it is larger than all
    others for the median, enters the interval as `most`, and leaves its upper end open.
    """
    arrived = [math.inf if count is None else float(count) for count in counts]
    found = interval([math.log(min(count, most)) for count in arrived])
    low, high = (None, None) if found is None else (math.exp(found[0]), math.exp(found[1]))
    if high is not None and math.inf in arrived:
        high = math.inf
    return Estimate(median(arrived), low, high, len(counts))


@dataclass(frozen=True)
class Saving:
    """The share of the baseline's rounds that is saved, seed by seed."""

    estimate: Estimate
    at_least: bool  # the baseline did not always arrive, so that more may be saved


def saved(
    ours: Mapping[int, int | None], theirs: Mapping[int, int | None], most: int
) -> Saving | None:
    """Paired by seed; None where ours did not arrive, or no seed has both."""
    seeds = sorted(ours.keys() & theirs.keys())
    if not seeds or any(ours[seed] is None for seed in seeds):
        return None
    ratios = [math.log((ours[seed] or most) / (theirs[seed] or most)) for seed in seeds]
    found = interval(ratios)
    low, high = (None, None) if found is None else (1 - math.exp(found[1]), 1 - math.exp(found[0]))
    open_ = any(theirs[seed] is None for seed in seeds)
    return Saving(Estimate(1 - math.exp(median(ratios)), low, high, len(seeds)), open_)
