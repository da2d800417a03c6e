"""Who replied in a round, and what they sent: a matrix that is walked in slabs, never copied."""

from __future__ import annotations

import math
import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import torch
from torch import Tensor

from fedadp.errors import UpdateError
from fedadp.geometry import Geometry, measure, weighted_sum
from fedadp.parallel import side_by_side

T = TypeVar("T")
MOST_EXAMPLES = 1e15  # whole numbers up to here add up exactly
SLAB_BYTES = 2**23  # of float32: enough work for a thread, little enough to hold a few


def exact_sum(values: Tensor) -> float:
    """A sum without rounding on the way, so that the order of its terms cannot show."""
    try:
        return math.fsum(values.tolist())
    except OverflowError:  # on the way, at least
        return math.fsum((values * 2.0**-100).tolist()) * 2.0**100


class Cohort(ABC):
    """The nodes that replied in a round, and their updates.

    >>> cohort = Cohort.of(nodes=[11, 7], updates=[[3.0, 0.0], [0.0, 4.0]], examples=[600, 200])
    >>> cohort.geometry().norms.tolist(), cohort.combine(cohort.shares).tolist()
    ([3.0, 4.0], [2.25, 1.0])
    """

    round: int  # the round whose parameters the nodes started from
    nodes: tuple[int, ...]
    examples: Tensor  # (K,) float64
    size: int  # P
    dtype: torch.dtype
    entries: Mapping[str, torch.Size]  # of a state dict, in the order of the columns; else empty
    buffers: Tensor  # (K, Q) float64: what is averaged by share and has no angle
    notes: Mapping[str, Tensor]  # (K,) each: what the nodes said of themselves, such as their loss
    refused: Mapping[int, str]  # who replied with something unusable, and what

    @abstractmethod
    def slab(self, start: int, stop: int) -> Tensor:
        """Columns start to stop of the updates, (K, stop - start), rows in the order of `nodes`."""

    def cuts(self) -> Iterator[tuple[int, int]]:
        """Where slabs begin and end, left to right."""
        return self._cuts(0, self.size)

    def _cuts(self, begin: int, end: int) -> Iterator[tuple[int, int]]:
        width = max(64, SLAB_BYTES // 4 // len(self))
        return ((a, min(a + width, end)) for a in range(begin, end, width))

    def slabs(self) -> Iterator[Tensor]:
        """The updates, piece by piece."""
        return (self.slab(*cut) for cut in self.cuts())

    @staticmethod
    def of(
        nodes: Sequence[int],
        updates: Any,
        examples: Sequence[float] | Tensor,
        *,
        round: int = 1,  # noqa: A002  the word of the house
        buffers: Tensor | None = None,
        notes: Mapping[str, Tensor] | None = None,
        refused: Mapping[int, str] | None = None,
    ) -> Cohort:
        """A cohort in memory, from a (K, P) matrix or from one array or state dict per node."""
        from fedadp.inmemory import InMemory

        return InMemory(nodes, updates, examples, round, buffers, notes, refused)

    @staticmethod
    def of_files(
        nodes: Sequence[int],
        files: Sequence[str | Path],
        examples: Sequence[float] | Tensor,
        *,
        round: int = 1,  # noqa: A002
        order: Sequence[str] | None = None,
    ) -> Cohort:
        """A cohort on disk, from one safetensors file per node: only slabs are ever in memory.

        A file does not keep the order of its entries: they are taken by name, or in the order of
        a state dict, as in `order=list(model.state_dict())`.
        """
        from fedadp.ondisk import OnDisk

        return OnDisk(nodes, files, examples, round, order)

    def __len__(self) -> int:
        return len(self.nodes)

    @cached_property
    def shares(self) -> Tensor:  # (K,)
        """D_i / sum D."""
        return self.examples / exact_sum(self.examples)

    def geometry(self) -> Geometry:
        """Norms, and cosines to the share-weighted mean: one pass, which also checks the values."""
        return self._geometry

    @cached_property
    def _geometry(self) -> Geometry:
        return self.measured(self.shares)

    def measured(self, weights: Tensor) -> Geometry:
        """The geometry that the updates have to their mean under these weights."""
        found = measure(self._walk, self._in_order(weights))
        if isinstance(found, list):
            nodes = [sorted(self.nodes)[row] for row in found]
            names = ", ".join(map(str, nodes))
            raise UpdateError(
                f"updates: node {names} sent a value that is not finite; leave it out", nodes
            )
        if self._order is None:
            return found
        back = torch.argsort(self._order)
        return Geometry(found.norms[back], found.cosines[back], found.mean_norm)

    def combine(self, weights: Tensor) -> Tensor:  # (P,)
        """The sum of the updates, each times its weight: a second pass."""
        if weights.shape != (len(self.nodes),):
            raise UpdateError(
                f"combine: {weights.numel()} weights for {len(self.nodes)} nodes; "
                "one per node is needed"
            )
        if weights.is_complex():
            raise UpdateError(f"combine: weights are {weights.dtype}; real ones are needed")
        self.geometry()  # nothing leaves a cohort whose updates were not checked
        out = torch.empty(self.size, dtype=self.dtype)
        return weighted_sum(self._walk, self._in_order(weights.double()), out)

    def named(self, vector: Tensor) -> dict[str, Tensor]:
        """A step (P,) as entries of a state dict, where the updates came as such."""
        if not self.entries:
            raise UpdateError("named: these updates came without names; hand in state dicts")
        sizes = [shape.numel() for shape in self.entries.values()]
        pieces = zip(self.entries.items(), torch.split(vector, sizes), strict=True)
        return {name: piece.view(shape) for (name, shape), piece in pieces}

    def mean_buffers(self) -> Tensor:  # (Q,)
        return self._in_order(self.shares) @ self._in_order(self.buffers)

    @cached_property
    def _order(self) -> Tensor | None:
        """Rows by node: sums are taken in this order, so that the order of replies cannot show."""
        ranks = torch.tensor(self.nodes).argsort()
        return None if bool((ranks == torch.arange(len(ranks))).all()) else ranks

    def _in_order(self, rows: Tensor) -> Tensor:
        return rows if self._order is None else rows[self._order]

    def _walk(self, work: Callable[[Tensor, int], T]) -> Iterator[T]:
        def one(cut: tuple[int, int]) -> T:
            return work(self._in_order(self.slab(*cut)), cut[0])

        return side_by_side(one, self.cuts())


def node_ids(nodes: Sequence[Any]) -> tuple[int, ...]:
    """The nodes' names as whole numbers that fit into 64 bits."""
    try:
        ids = tuple(operator.index(node) for node in nodes)
    except TypeError as error:
        raise UpdateError(f"nodes: a node's name is a whole number ({error})") from error
    if any(abs(node) >= 2**63 for node in ids):
        raise UpdateError(f"nodes: {max(ids, key=abs)} is too large a name; stay below 2**63")
    return ids


def counts(examples: Sequence[float] | Tensor) -> Tensor:  # (K,)
    try:
        return torch.as_tensor(examples, dtype=torch.float64)
    except (TypeError, ValueError, RuntimeError) as error:
        raise UpdateError(f"examples: one number per node is needed ({error})") from error


def check_replies(cohort: Cohort, rows: set[int]) -> None:
    """One update, one count of examples and one row of statistics from each node."""
    nodes, examples = cohort.nodes, cohort.examples
    if rows != {len(nodes)} or examples.shape != (len(nodes),):
        raise UpdateError(
            f"cohort: {len(nodes)} nodes, {max(rows)} updates and {examples.numel()} counts of "
            "examples do not go together; give one of each per node"
        )
    if len(set(nodes)) != len(nodes):
        twice = [node for node in nodes if nodes.count(node) > 1]
        raise UpdateError(f"cohort: node {twice[0]} is there twice; count each reply once", twice)
    for node, count in zip(nodes, examples.tolist(), strict=True):
        if not 0 < count <= MOST_EXAMPLES:
            raise UpdateError(
                f"examples: node {node} holds {count:g}; a number above 0 is needed, up to 1e15",
                [node],
            )
    if cohort.buffers.dim() != 2 or len(cohort.buffers) != len(nodes):
        raise UpdateError(f"buffers: {len(nodes)} rows are needed, one per node")
    broken = (~torch.isfinite(cohort.buffers)).any(dim=1).nonzero().flatten().tolist()
    if broken:
        raise UpdateError(
            f"buffers: node {nodes[broken[0]]} sent a value that is not finite; leave it out",
            [nodes[i] for i in broken],
        )
