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

WIDE = 2**16  # elements that PyTorch takes at once: its operators cost microseconds to call


class Blocks(NamedTuple):
    """How a slab is walked: blocks of columns, and in each so many rows and columns at a time.

    A core's prefetcher follows a dozen rows at once, as long as it meets each of them again before
    it forgets them.
    """

    columns: int
    rows: int
    strip: int


FEW = Blocks(256, 16, 256)  # up to 16 rows, whichever pass
MEASURED, SUMMED = Blocks(1024, 2**31, 1024), Blocks(8192, 8, 256)  # a block of more in the cache


class Sums(NamedTuple):
    """What a slab adds to the geometry of K updates."""

    squares: Tensor  # (K,) of each update
    dots: Tensor  # (K,) with the mean
    mean_square: float


def sums(slab: Tensor, weights: Tensor, scales: Tensor | None = None) -> Sums:  # slab (K, c)
    """Squares of updates, and inner products with their weighted mean; each update times its scale.

    The mean is of the updates as they are: weights (K,) are scaled by whoever needs them to be.
    """
    scales = torch.ones_like(weights) if scales is None else scales
    loop = compiled(_loop, any_order=True)
    if loop is None or slab.dtype not in COMPILED:
        return torch_sums(slab, weights, scales)
    blocks = FEW if len(slab) <= FEW.rows else MEASURED
    squares, dots = np.zeros(len(slab)), np.zeros(len(slab))
    mean_square = loop(
        *flat_rows(slab), weights.numpy(), *blocks, scales.numpy(), squares, dots, np.empty(0)
    )
    return Sums(torch.from_numpy(squares), torch.from_numpy(dots), float(mean_square))


def weigh(slab: Tensor, weights: Tensor, out: Tensor) -> None:  # slab (K, c), out (c,)
    """The weighted sum of the rows, into `out`."""
    loop = compiled(_loop, any_order=True)
    if loop is None or slab.dtype not in COMPILED or out.dtype not in COMPILED:
        torch_weigh(slab, weights, out)
    else:
        blocks = FEW if len(slab) <= FEW.rows else SUMMED
        nothing = np.empty(0)
        loop(*flat_rows(slab), weights.numpy(), *blocks, nothing, nothing, nothing, out.numpy())


def torch_sums(slab: Tensor, weights: Tensor, scales: Tensor) -> Sums:
    squares, dots = torch.zeros_like(weights), torch.zeros_like(weights)
    mean_square = torch.zeros((), dtype=torch.float64)
    for strip in torch.split(slab, max(1, WIDE // len(slab)), dim=1):
        exact = strip.double()
        mean = weights @ exact  # (c,)
        exact = exact * scales[:, None]
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


def _loop(flat, step, width, weights, columns, rows, strip, scales, squares, dots, out):  # type: ignore[no-untyped-def]
    """One pass: the weighted sum of the rows goes into `out`, or is measured against each of them.

    Either `out` is empty, or `scales`, `squares` and `dots` are.
    """
    count, mean_square = len(weights), 0.0
    sums = np.empty(min(columns, width))
    for start in range(0, width, columns):
        size = min(columns, width - start)
        sums[:size] = 0.0
        for first in range(0, count, rows):
            last = min(first + rows, count)
            fours = last - (last - first) % 4
            for begin in range(0, size, strip):
                end = min(begin + strip, size)
                total = sums[begin:end]
                for k in range(first, fours, 4):  # four rows for each write
                    at, length = k * step + start + begin, end - begin
                    one = flat[at : at + length]
                    two = flat[at + step : at + step + length]
                    three = flat[at + 2 * step : at + 2 * step + length]
                    four = flat[at + 3 * step : at + 3 * step + length]
                    a, b, c, d = weights[k], weights[k + 1], weights[k + 2], weights[k + 3]
                    for j in range(length):
                        total[j] += a * one[j] + b * two[j] + c * three[j] + d * four[j]
                for k in range(fours, last):
                    one = flat[k * step + start + begin : k * step + start + end]
                    a = weights[k]
                    for j in range(len(total)):
                        total[j] += a * one[j]
        for j in range(min(size, len(out) - start)):
            out[start + j] = sums[j]
        for j in range(size):
            mean_square += sums[j] * sums[j]
        for k in range(len(squares)):
            row = flat[k * step + start : k * step + start + size]
            scale, square, dot = scales[k], 0.0, 0.0
            for j in range(size):
                value = scale * row[j]
                square += value * value
                dot += value * sums[j]
            squares[k] += square
            dots[k] += dot
    return mean_square
