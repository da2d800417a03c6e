"""The two passes over the updates of a round: their geometry, and their weighted sum.

Both walk column slabs of shape (K, c), small enough to stay in a core's cache, and accumulate in
float64. Nothing of size K x P is made. A slab's width depends on K alone, and slabs are added up
from left to right, so that the bits of a result depend on nothing but the updates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

SLAB_BYTES = 2**19  # of float64: half a megabyte leaves a core's cache room for the slab itself
Walk = Callable[[], Iterable[Tensor]]


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
        squared = self.norms**2 + self.mean_norm**2 - 2 * self.norms * self.mean_norm * self.cosines
        return squared.clamp(min=0).sqrt()

    @property
    def dissimilarity(self) -> tuple[float, float]:
        """A and B of Assumption 2: the smallest and the largest |g_i| / |g|."""
        if self.mean_norm == 0:
            return float("nan"), float("nan")
        ratios = self.norms / self.mean_norm
        return float(ratios.min()), float(ratios.max())


def slab_width(nodes: int) -> int:
    """How many columns of K rows make one slab."""
    return max(64, SLAB_BYTES // (8 * max(nodes, 1)) // 64 * 64)


class _Sums(NamedTuple):
    squares: Tensor  # (K,) of each update
    dots: Tensor  # (K,) with the mean
    mean_square: float


def _sums(slabs: Iterable[Tensor], shares: Tensor, scale: float) -> _Sums:
    squares = torch.zeros_like(shares)
    dots = torch.zeros_like(shares)
    mean_square = torch.zeros((), dtype=torch.float64)
    for slab in slabs:  # (K, c)
        exact = slab.double()
        if scale != 1.0:
            exact = exact * scale
        mean = shares @ exact  # (c,)
        dots += exact @ mean
        squares += torch.linalg.vecdot(exact, exact)
        mean_square += mean @ mean
    return _Sums(squares, dots, float(mean_square))


def _peaks(slabs: Iterable[Tensor], shares: Tensor) -> Tensor:  # (K,)
    peaks = torch.zeros_like(shares)
    for slab in slabs:
        peaks = torch.maximum(peaks, slab.double().abs().amax(dim=1))  # carries NaN along
    return peaks


def measure(walk: Walk, shares: Tensor) -> Geometry | list[int]:
    """The geometry of the updates, or the rows that hold a value that is not finite."""
    scale = 1.0
    sums = _sums(walk(), shares, scale)
    # squares of float32 always fit into float64; those of a float64 may not
    if not torch.isfinite(sums.squares).all() or bool((sums.squares < 1e-280).any()):
        peaks = _peaks(walk(), shares)
        broken = (~torch.isfinite(peaks)).nonzero().flatten().tolist()
        if broken:
            return [int(row) for row in broken]
        if bool(((peaks > 1e140) | ((peaks > 0) & (peaks < 1e-140))).any()):
            scale = 1.0 / max(float(peaks.max()), 1e-300)
            sums = _sums(walk(), shares, scale)
    norms = sums.squares.sqrt()
    mean_norm = sums.mean_square**0.5
    if mean_norm <= 1e-14 * float(shares @ norms):  # what float64 leaves where updates cancel out
        mean_norm = 0.0
    lengths = norms * mean_norm
    cosines = torch.where(lengths > 0, sums.dots / lengths, 0.0).clamp(-1.0, 1.0)
    return Geometry(norms / scale, cosines, mean_norm / scale)


def weighted_sum(walk: Walk, weights: Tensor, out: Tensor) -> Tensor:
    """Fill `out` (P,) with the sum of the updates, each times its weight."""
    start = 0
    for slab in walk():  # (K, c)
        stop = start + slab.shape[1]
        out[start:stop] = weights @ slab.double()
        start = stop
    return out
