"""A cohort in memory: a matrix, or one array or state dict per node."""

from __future__ import annotations

import warnings
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor

from fedadp.cohort import Cohort, check_replies, counts, node_ids
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
        self.nodes = node_ids(nodes)
        self.examples = counts(examples)
        filed = _by_node(updates, self.nodes)
        self._segments, statistics, self.entries = _segments(filed)
        sizes = [segment[0].numel() for segment in self._segments]
        self._begins = [0, *accumulate(sizes)]
        self.size = self._begins[-1]
        dtypes = {dtype for segment in self._segments for dtype in _dtypes(segment)}
        self.dtype = reduce(torch.promote_types, dtypes)
        self.buffers = (statistics if buffers is None else buffers).double()
        check_replies(self, {len(segment) for segment in self._segments})

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


def _dtypes(segment: Segment) -> set[torch.dtype]:
    return {segment.dtype} if isinstance(segment, Tensor) else {row.dtype for row in segment}


def _by_node(updates: Updates, nodes: Sequence[int]) -> Updates:
    """The updates in the order of the nodes, where they are filed under them."""
    if not isinstance(updates, Mapping):
        return updates
    if missing := [node for node in nodes if node not in updates]:
        raise UpdateError(f"updates: none is filed under node {missing[0]}", missing)
    return [updates[node] for node in nodes]


Entries = dict[str, torch.Size]


def _segments(updates: Updates) -> tuple[list[Segment], Tensor, Entries]:
    """The rows that have an angle, (K, Q) what is averaged by share, and the rows' names."""
    if isinstance(updates, np.ndarray):
        updates = _tensor(updates)
    if isinstance(updates, Tensor):
        if updates.dim() != 2 or updates.numel() == 0:
            raise UpdateError(f"updates: a (K, P) matrix is needed, not one of {_shape(updates)}")
        return [_float(updates)], torch.zeros(len(updates), 0), {}
    if len(updates) == 0:
        raise UpdateError("updates: there are none; a cohort needs at least one node")
    if not isinstance(updates[0], Mapping):
        return [_rows("updates", updates)], torch.zeros(len(updates), 0), {}
    for update in updates[1:]:
        if odd := set(update) ^ set(updates[0]):
            raise UpdateError(f"updates: not every node has an entry named {min(odd)!r}")
    learnt = [name for name in updates[0] if _is_trainable(name, updates[0][name])]
    if not learnt:
        raise UpdateError(
            "updates: a node's entries hold no floats, so there is nothing to average"
        )
    others = [_rows(name, [u[name] for u in updates]) for name in updates[0] if name not in learnt]
    statistics = [torch.stack(rows).double() for rows in others]
    segments: list[Segment] = [_rows(name, [u[name] for u in updates]) for name in learnt]
    entries = {name: _tensor(updates[0][name]).shape for name in learnt}
    return segments, torch.cat([torch.zeros(len(updates), 0), *statistics], dim=1), entries


def _is_trainable(name: str, values: Any) -> bool:
    return name.rsplit(".", 1)[-1] not in BUFFER_NAMES and _tensor(values).is_floating_point()


def _row(update: Any) -> Tensor:
    return _float(_tensor(update)).reshape(-1)


def _tensor(values: Any) -> Tensor:
    """Python's floats keep their 64 bits; an array is not copied unless PyTorch cannot read it."""
    if isinstance(values, Tensor):
        return values
    try:
        array = np.asarray(values)
        if not array.dtype.isnative or min(array.strides, default=0) < 0:
            array = array.astype(array.dtype.newbyteorder("="), order="C")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # it may be read-only; so are we
            return torch.from_numpy(array)
    except (TypeError, ValueError) as error:
        raise UpdateError(f"updates: not an array of numbers ({error})") from error


def _float(values: Tensor) -> Tensor:
    return values.detach() if values.is_floating_point() else values.double()


def _rows(name: str, values: Sequence[Any]) -> list[Tensor]:
    rows = [_row(one) for one in values]
    for row in rows[1:]:
        if row.numel() != rows[0].numel():
            raise UpdateError(
                f"{name}: the nodes' sizes differ, {rows[0].numel()} and {row.numel()}; "
                "all must train the same model"
            )
    return rows


def _shape(tensor: Tensor) -> str:
    return "shape (" + ", ".join(map(str, tensor.shape)) + ")"
