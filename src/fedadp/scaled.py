"""A cohort seen with its updates scaled: each times a factor, without a copy of any."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from fedadp.cohort import Cohort
from fedadp.geometry import Geometry


class Scaled(Cohort):
    """Another cohort, with each update times a factor, and perhaps other counts of examples.

    >>> cohort = Cohort.of(nodes=[11, 7], updates=[[3.0, 0.0], [0.0, 4.0]], examples=[600, 200])
    >>> seen = Scaled(cohort, torch.tensor([1.0, 0.5], dtype=torch.float64))
    >>> seen.geometry().norms.tolist(), seen.combine(seen.shares).tolist()
    ([3.0, 2.0], [2.25, 0.5])
    """

    def __init__(self, inner: Cohort, factors: Tensor, examples: Tensor | None = None) -> None:
        self.inner, self.factors = inner, factors  # factors (K,) float64, at least 0
        self.round, self.nodes, self.refused = inner.round, inner.nodes, inner.refused
        self.size, self.dtype, self.entries = inner.size, inner.dtype, inner.entries
        self.buffers, self.notes = inner.buffers, inner.notes
        self.examples = inner.examples if examples is None else examples

    def cuts(self) -> Iterator[tuple[int, int]]:
        return self.inner.cuts()

    def slab(self, start: int, stop: int) -> Tensor:
        slab = self.inner.slab(start, stop)
        return (slab * self.factors[:, None]).to(slab.dtype)

    # a factor belongs to a row, so both passes take it in with the weights and read the rows as
    # they are: a positive one changes a row's length, and no cosine of that row
    def measured(self, weights: Tensor) -> Geometry:
        found = self.inner.measured(weights * self.factors)
        cosines = torch.where(self.factors > 0, found.cosines, 0.0)
        return Geometry(found.norms * self.factors, cosines, found.mean_norm)

    def combine(self, weights: Tensor) -> Tensor:
        return self.inner.combine(weights * self.factors)
