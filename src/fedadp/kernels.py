"""The inner loops over a slab, in float64: compiled where numba is installed, PyTorch elsewhere.

Both read a slab once, a strip of columns at a time, so that the strip's mean is still in the
core's nearest cache when the inner products with it are taken.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from fedadp.compiled import COMPILED, compiled

STRIP = 1024  # columns
WIDE = 2**16  # elements that PyTorch takes at once: its operators cost microseconds to call


class Sums(NamedTuple):
    """What a slab adds to the geometry of K updates."""

    squares: Tensor  # (K,) of each update
    dots: Tensor  # (K,) with the mean
    mean_square: float


def sums(slab: Tensor, shares: Tensor, scale: float = 1.0) -> Sums:  # slab (K, c)
    """Squared norms, and inner products with the share-weighted mean, of updates times `scale`."""
    loop = compiled(_sums_loop, any_order=True)
    if loop is None or slab.dtype not in COMPILED:
        return torch_sums(slab, shares, scale)
    squares, dots = np.zeros(len(slab)), np.zeros(len(slab))
    mean_square = loop(*flat_rows(slab), shares.numpy(), scale, squares, dots)
    return Sums(torch.from_numpy(squares), torch.from_numpy(dots), float(mean_square))


def weigh(slab: Tensor, weights: Tensor, out: Tensor) -> None:  # slab (K, c), out (c,)
    """The weighted sum of the rows, into `out`."""
    loop = compiled(_weigh_loop, any_order=True)
    if loop is None or slab.dtype not in COMPILED or out.dtype not in COMPILED:
        torch_weigh(slab, weights, out)
    else:
        loop(*flat_rows(slab), weights.numpy(), out.numpy())


def torch_sums(slab: Tensor, shares: Tensor, scale: float = 1.0) -> Sums:
    squares, dots = torch.zeros_like(shares), torch.zeros_like(shares)
    mean_square = torch.zeros((), dtype=torch.float64)
    for strip in torch.split(slab, max(1, WIDE // len(slab)), dim=1):
        exact = strip.double() if scale == 1.0 else strip.double() * scale
        mean = shares @ exact  # (c,)
        dots += exact @ mean
        squares += torch.linalg.vecdot(exact, exact)
        mean_square += mean @ mean
    return Sums(squares, dots, float(mean_square))


def torch_weigh(slab: Tensor, weights: Tensor, out: Tensor) -> None:
    width = max(1, WIDE // len(slab))
    for strip, piece in zip(torch.split(slab, width, dim=1), torch.split(out, width), strict=True):
        piece.copy_(weights @ strip.double())


def flat_rows(slab: Tensor) -> tuple[Any, int, int]:
    """A slab as one flat array, the distance between its rows, and its width."""
    if slab.stride(1) != 1 and slab.shape[1] > 1:
        slab = slab.contiguous()
    (count, width), step = slab.shape, slab.stride(0)
    flat = slab.as_strided(((count - 1) * step + width,), (1,))
    return flat.numpy(), step, width


def _sums_loop(flat, step, width, shares, scale, squares, dots):  # type: ignore[no-untyped-def]
    mean = np.empty(STRIP)
    mean_square = 0.0
    for start in range(0, width, STRIP):
        size = min(STRIP, width - start)
        mean[:] = 0.0
        for k in range(len(shares)):
            row = flat[k * step + start : k * step + start + size]
            share = shares[k] * scale
            for j in range(size):
                mean[j] += share * row[j]
        for j in range(size):
            mean_square += mean[j] * mean[j]
        for k in range(len(shares)):
            row = flat[k * step + start : k * step + start + size]
            square, dot = 0.0, 0.0
            for j in range(size):
                value = scale * row[j]
                square += value * value
                dot += value * mean[j]
            squares[k] += square
            dots[k] += dot
    return mean_square


def _weigh_loop(flat, step, width, weights, out):  # type: ignore[no-untyped-def]
    total = np.empty(STRIP)
    for start in range(0, width, STRIP):
        size = min(STRIP, width - start)
        total[:] = 0.0
        for k in range(len(weights)):
            row = flat[k * step + start : k * step + start + size]
            weight = weights[k]
            for j in range(size):
                total[j] += weight * row[j]
        for j in range(size):
            out[start + j] = total[j]
