"""Made-up updates to aggregate, and what their aggregation needs at least."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

BLOCK = 1 << 20
LAYER = 1_605_632  # numbers in the largest array of the paper's CNN


def matrix(nodes: int, size: int) -> np.ndarray:  # (K, P)
    """Gaussian, no two rows alike, all about as far from the mean; quick to make."""
    rng = np.random.default_rng(0)
    block = rng.standard_normal(min(size, BLOCK) + nodes, dtype=np.float32)
    width = len(block) - nodes
    rows = np.empty((nodes, size), dtype=np.float32)
    for node, row in enumerate(rows):
        piece = block[node : node + width]
        for start in range(0, size, width):
            part = row[start : start + width]
            np.multiply(piece[: len(part)], 1 + start / size, out=part)
    return rows


def layers(row: np.ndarray) -> list[np.ndarray]:
    """A row as the arrays of a model, as views."""
    return np.split(row, range(LAYER, len(row), LAYER))


def examples(nodes: int) -> list[int]:
    """How many each node holds: not all the same."""
    return [600 + 10 * (node % 7) for node in range(nodes)]


Piece = Callable[[int, int], np.ndarray]  # columns start to stop of the updates, (K, c)


def errors(piece: Piece, size: int, counts: list[int], cosines, weights, total) -> dict[str, float]:
    """How far the cosines, and a thousand columns of the sum, are from float64 NumPy's."""
    shares = np.array(counts) / sum(counts)
    squares, dots, length = np.zeros(len(shares)), np.zeros(len(shares)), 0.0
    step = max(BLOCK // len(shares), 1)
    columns, sums = np.linspace(0, size - 1, 1000).astype(int), []
    for start in range(0, size, step):
        block = piece(start, min(start + step, size)).astype(np.float64)
        mean = shares @ block
        squares += np.einsum("kc,kc->k", block, block)
        dots += block @ mean
        length += mean @ mean
        first, last = np.searchsorted(columns, (start, start + block.shape[1]))
        sums.append(weights @ block[:, columns[first:last] - start])
    return {
        "error_of_cosines": float(np.abs(dots / np.sqrt(squares * length) - cosines).max()),
        "error_of_sum": float(np.abs(np.concatenate(sums) - total[columns]).max()),
    }


class Memory:
    """How far this process grew beyond what it held; the kernel keeps the peak."""

    def __init__(self) -> None:
        try:
            Path("/proc/self/clear_refs").write_text("5")  # forget the peak so far
        except OSError:
            self._before = None
        else:
            self._before = _status("VmRSS")

    def extra_mb(self) -> float | None:
        return None if self._before is None else (_status("VmHWM") - self._before) / 1024


def _status(name: str) -> int:  # kB
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{name}:"))
