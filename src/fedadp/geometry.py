"""The two passes over the updates of a round: their geometry, and their weighted sum.

Both walk column slabs of shape (K, c) and accumulate in float64. Nothing of size K x P is made. A
slab's width depends on K alone, and slabs are added up from left to right whoever is done first, so
that the bits of a result depend on nothing but the updates.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol, TypeVar

import torch
from torch import Tensor

from fedadp.kernels import Sums, sums, weigh

T = TypeVar("T")
LARGEST = sys.float_info.max
ROUNDING = 1e-14  # what float64 leaves of a mean where updates cancel out


class Walk(Protocol):
    """Calls the work for every slab (K, c) and the column it begins at; results left to right."""

    def __call__(self, work: Callable[[Tensor, int], T]) -> Iterator[T]: ...


@dataclass(frozen=True)
class Geometry:
    """What a strategy needs to know of K updates: K norms and K cosines, in float64."""

    norms: Tensor  # (K,)
    cosines: Tensor  # (K,) to the share-weighted mean; 0 where an update or the mean is zero
    mean_norm: float  # 0.0 where the updates cancel out

    @property
    def angles(self) -> Tensor:  # (K,)
        """Equation 8."""
        return torch.arccos(self.cosines)

    @property
    def distances(self) -> Tensor:  # (K,)
        """How far each update lies from the mean: the terms of the divergence of Section V-D."""
        scale = power_of_two(max(float(self.norms.max()), self.mean_norm))  # squares then fit
        norms, mean = self.norms * scale, self.mean_norm * scale
        squared = norms**2 + mean**2 - 2 * norms * mean * self.cosines
        return (squared.clamp(min=0).sqrt() / scale).clamp(max=LARGEST)

    @property
    def dissimilarity(self) -> tuple[float, float]:
        """A and B of Assumption 2: the smallest and the largest |g_i| / |g|."""
        if self.mean_norm == 0:
            return float("nan"), float("nan")
        ratios = self.norms / self.mean_norm
        return float(ratios.min()), float(ratios.max())


def measure(walk: Walk, shares: Tensor) -> Geometry | list[int]:
    """The geometry of the updates, or the rows that hold a value that is not finite."""
    scales, of_mean = torch.ones_like(shares), 1.0
    total = _total(walk, shares, scales)
    # squares of float32 always fit into float64; those of a float64 may not
    if not torch.isfinite(total.squares).all() or bool((total.squares < 1e-280).any()):
        peaks = torch.stack(list(walk(_peaks))).amax(dim=0)  # carries NaN along
        broken = (~torch.isfinite(peaks)).nonzero().flatten().tolist()
        if broken:
            return [int(row) for row in broken]
        if bool(((peaks > 1e140) | ((peaks > 0) & (peaks < 1e-140))).any()):
            # each by its own length, so that a huge one leaves the others their cosines
            scales = torch.tensor(
                [power_of_two(peak) for peak in peaks.tolist()], dtype=torch.float64
            )
            of_mean = power_of_two(float((shares * peaks).max()), room=200)
            total = _total(walk, shares * of_mean, scales)
    lengths, mean_length = total.squares.sqrt(), total.mean_square**0.5
    if mean_length <= ROUNDING * float((shares * of_mean / scales) @ lengths):  # all cancels out
        mean_length = 0.0
    both = lengths * mean_length
    cosines = torch.where(both > 0, total.dots / both, 0.0).clamp(-1.0, 1.0)
    norms, mean_norm = (lengths / scales).clamp(max=LARGEST), min(mean_length / of_mean, LARGEST)
    return Geometry(norms, cosines, mean_norm)


def power_of_two(size: float, room: int = 0) -> float:
    """What takes a size to about 1, or up to 2**room, and changes no digit of what it scales.

    >>> power_of_two(5.0), power_of_two(0.0)
    (0.125, 1.0)
    """
    exponent = math.frexp(size)[1] if math.isfinite(size) else 1024
    return 2.0 ** min(max(room - exponent, -1000), 900)


def _total(walk: Walk, weights: Tensor, scales: Tensor) -> Sums:
    squares, dots = torch.zeros_like(weights), torch.zeros_like(weights)
    mean_square = 0.0
    for part in walk(lambda slab, _: sums(slab, weights, scales)):
        squares += part.squares
        dots += part.dots
        mean_square += part.mean_square
    return Sums(squares, dots, mean_square)


def _peaks(slab: Tensor, _: int) -> Tensor:  # (K,)
    return slab.double().abs().amax(dim=1)


def weighted_sum(walk: Walk, weights: Tensor, out: Tensor) -> Tensor:
    """Fill `out` (P,) with the sum of the updates, each times its weight."""

    def fill(slab: Tensor, start: int) -> None:
        weigh(slab, weights, out[start : start + slab.shape[1]])

    for _ in walk(fill):
        pass
    return out
