"""Who replied in a round, and what they sent: a matrix that is walked in slabs, never copied."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, reduce
from typing import Any

import numpy as np
import torch
from torch import Tensor

from fedadp.errors import UpdateError
from fedadp.geometry import Geometry, measure, slab_width, weighted_sum
from fedadp.parallel import one_thread

Updates = Tensor | np.ndarray[Any, Any] | Sequence[Any]
BUFFER_NAMES = ("running_mean", "running_var", "num_batches_tracked")


def exact_sum(values: Tensor) -> float:
    """A sum without rounding on the way, so that the order of its terms cannot show."""
    return math.fsum(values.tolist())


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
    buffers: Tensor  # (K, Q) float64: what is averaged by share and has no angle
    notes: Mapping[str, Tensor]  # (K,) each: what the nodes said of themselves, such as their loss
    refused: Mapping[int, str]  # who replied with something unusable, and what

    @abstractmethod
    def slabs(self) -> Iterator[Tensor]:
        """Pieces of the updates of shape (K, c), left to right, rows in the order of `nodes`."""

    @staticmethod
    def of(
        nodes: Sequence[int],
        updates: Updates,
        examples: Sequence[float] | Tensor,
        *,
        round: int = 1,  # noqa: A002  the word of the house
        buffers: Tensor | None = None,
        notes: Mapping[str, Tensor] | None = None,
        refused: Mapping[int, str] | None = None,
    ) -> Cohort:
        """A cohort in memory, from a (K, P) matrix or from one array or state dict per node."""
        return _InMemory(nodes, updates, examples, round, buffers, notes or {}, refused or {})

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
        with one_thread():
            found = measure(self._walk, self._in_order(self.shares))
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
            raise UpdateError(f"combine: {weights.numel()} weights for {len(self.nodes)} nodes")
        self.geometry()  # nothing leaves a cohort whose updates were not checked
        out = torch.empty(self.size, dtype=self.dtype)
        with one_thread():
            return weighted_sum(self._walk, self._in_order(weights.double()), out)

    def mean_buffers(self) -> Tensor:  # (Q,)
        return self._in_order(self.shares) @ self._in_order(self.buffers)

    @cached_property
    def _order(self) -> Tensor | None:
        """Rows by node: sums are taken in this order, so that the order of replies cannot show."""
        ranks = torch.tensor(self.nodes).argsort()
        return None if bool((ranks == torch.arange(len(ranks))).all()) else ranks

    def _in_order(self, rows: Tensor) -> Tensor:
        return rows if self._order is None else rows[self._order]

    def _walk(self) -> Iterator[Tensor]:
        return map(self._in_order, self.slabs())


class _InMemory(Cohort):
    def __init__(
        self,
        nodes: Sequence[int],
        updates: Updates,
        examples: Sequence[float] | Tensor,
        round: int,  # noqa: A002
        buffers: Tensor | None,
        notes: Mapping[str, Tensor],
        refused: Mapping[int, str],
    ) -> None:
        self.round, self.notes, self.refused = round, notes, refused
        self.nodes = tuple(int(node) for node in nodes)
        self.examples = torch.as_tensor(examples, dtype=torch.float64)
        self._segments = _segments(updates)
        self.size = sum(segment[0].numel() for segment in self._segments)
        self.dtype = reduce(torch.promote_types, (row[0].dtype for row in self._segments))
        self.buffers = torch.zeros(len(self.nodes), 0) if buffers is None else buffers
        self.buffers = self.buffers.double()
        _check(self.nodes, self.examples, {len(segment) for segment in self._segments})

    def slabs(self) -> Iterator[Tensor]:
        width = slab_width(len(self.nodes))
        for segment in self._segments:
            for start in range(0, segment[0].numel(), width):
                if isinstance(segment, Tensor):
                    yield segment[:, start : start + width]
                else:
                    yield torch.stack([row[start : start + width] for row in segment])


Segment = Tensor | list[Tensor]  # K rows of equal length, as one matrix or one by one


def _segments(updates: Updates) -> list[Segment]:
    if isinstance(updates, np.ndarray):
        updates = _tensor(updates)
    if isinstance(updates, Tensor):
        if updates.dim() != 2 or updates.numel() == 0:
            raise UpdateError(f"updates: a (K, P) matrix is needed, not one of {_shape(updates)}")
        return [_float(updates)]
    if len(updates) == 0:
        raise UpdateError("updates: there are none; a cohort needs at least one node")
    if not isinstance(updates[0], Mapping):
        return [_rows("updates", [_row(update) for update in updates])]
    names = [name for name in updates[0] if name.rsplit(".", 1)[-1] not in BUFFER_NAMES]
    names = [name for name in names if _tensor(updates[0][name]).is_floating_point()]
    if not names:
        raise UpdateError(
            "updates: a node's entries hold no floats, so there is nothing to average"
        )
    for update in updates[1:]:
        if odd := set(update) ^ set(updates[0]):
            raise UpdateError(f"updates: not every node has an entry named {min(odd)!r}")
    return [_rows(name, [_row(update[name]) for update in updates]) for name in names]


def _row(update: Any) -> Tensor:
    return _float(_tensor(update)).reshape(-1)


def _tensor(values: Any) -> Tensor:
    """Python's floats keep their 64 bits."""
    return values if isinstance(values, Tensor) else torch.from_numpy(np.asarray(values))


def _float(values: Tensor) -> Tensor:
    return values.detach() if values.is_floating_point() else values.double()


def _rows(name: str, rows: list[Tensor]) -> list[Tensor]:
    for row in rows[1:]:
        if row.numel() != rows[0].numel():
            raise UpdateError(
                f"{name}: the nodes' sizes differ, {rows[0].numel()} and {row.numel()}; "
                "all must train the same model"
            )
    return rows


def _check(nodes: tuple[int, ...], examples: Tensor, rows: set[int]) -> None:
    if rows != {len(nodes)} or examples.shape != (len(nodes),):
        raise UpdateError(
            f"cohort: {len(nodes)} nodes, {max(rows)} updates and {examples.numel()} counts of "
            "examples do not go together; give one of each per node"
        )
    if len(set(nodes)) != len(nodes):
        twice = [node for node in nodes if nodes.count(node) > 1]
        raise UpdateError(f"cohort: node {twice[0]} is there twice; count each reply once", twice)
    for node, count in zip(nodes, examples.tolist(), strict=True):
        if not 0 < count < float("inf"):
            raise UpdateError(
                f"examples: node {node} holds {count:g}; a positive number is needed", [node]
            )


def _shape(tensor: Tensor) -> str:
    return "shape (" + ", ".join(map(str, tensor.shape)) + ")"
