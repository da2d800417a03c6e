"""A cohort in memory: a matrix, or one array or state dict per node."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor

from fedadp.cohort import Cohort, check_replies
from fedadp.errors import UpdateError

Updates = Tensor | np.ndarray[Any, Any] | Sequence[Any]
BUFFER_NAMES = ("running_mean", "running_var", "num_batches_tracked")


class InMemory(Cohort):
    """A cohort whose updates are in memory, where they are."""

    def __init__(
        self,
        nodes: Sequence[int],
        updates: Updates,
        examples: Sequence[float] | Tensor,
        round: int = 1,  # noqa: A002
        buffers: Tensor | None = None,
        notes: Mapping[str, Tensor] | None = None,
        refused: Mapping[int, str] | None = None,
    ) -> None:
        self.round, self.notes, self.refused = round, notes or {}, refused or {}
        self.nodes = tuple(int(node) for node in nodes)
        self.examples = torch.as_tensor(examples, dtype=torch.float64)
        self._segments = _segments(updates)
        sizes = [segment[0].numel() for segment in self._segments]
        self._begins = [0, *accumulate(sizes)]
        self.size = self._begins[-1]
        self.dtype = reduce(torch.promote_types, (row[0].dtype for row in self._segments))
        self.buffers = torch.zeros(len(self.nodes), 0) if buffers is None else buffers
        self.buffers = self.buffers.double()
        check_replies(self.nodes, self.examples, {len(segment) for segment in self._segments})

    def cuts(self) -> Iterator[tuple[int, int]]:
        for begin, end in pairwise(self._begins):
            yield from self._cuts(begin, end)

    def slab(self, start: int, stop: int) -> Tensor:
        place = bisect_right(self._begins, start) - 1
        segment, begin = self._segments[place], self._begins[place]
        if isinstance(segment, Tensor):
            return segment[:, start - begin : stop - begin]
        return torch.stack([row[start - begin : stop - begin] for row in segment])


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


def _shape(tensor: Tensor) -> str:
    return "shape (" + ", ".join(map(str, tensor.shape)) + ")"
