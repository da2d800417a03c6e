"""A cohort on disk: one safetensors file per node, read slab by slab."""

from __future__ import annotations

import json
import os
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from fedadp.cohort import Cohort, check_replies, counts, node_ids
from fedadp.errors import UpdateError, reason
from fedadp.inmemory import BUFFER_NAMES

TYPES = {"F16": torch.float16, "BF16": torch.bfloat16, "F32": torch.float32, "F64": torch.float64}


@dataclass(frozen=True)
class Entry:
    """A tensor in a file."""

    name: str
    shape: tuple[int, ...]
    dtype: torch.dtype
    offset: int  # of its first byte in the file

    @property
    def size(self) -> int:
        return torch.Size(self.shape).numel()


class OnDisk(Cohort):
    """A cohort whose updates are files; what has no float or is a statistic stays out of it."""

    def __init__(
        self,
        nodes: Sequence[int],
        files: Sequence[str | Path],
        examples: Sequence[float] | Tensor,
        round: int = 1,  # noqa: A002
        order: Sequence[str] | None = None,
    ) -> None:
        self.round, self.notes, self.refused = round, {}, {}
        self.nodes, self.examples = node_ids(nodes), counts(examples)
        self.buffers = torch.zeros(len(self.nodes), 0, dtype=torch.float64)
        check_replies(self, {len(files)})
        self._paths = [Path(file) for file in files]
        self._entries = [_ordered(path, _entries(path), order) for path in self._paths]
        for path, entries in zip(self._paths, self._entries, strict=True):
            _check_same(path, entries, self._paths[0], self._entries[0])
        self._begins = [0, *accumulate(entry.size for entry in self._entries[0])]
        self.size = self._begins[-1]
        self.entries = {entry.name: torch.Size(entry.shape) for entry in self._entries[0]}
        self.dtype = self._entries[0][0].dtype
        for entry in self._entries[0]:
            self.dtype = torch.promote_types(self.dtype, entry.dtype)

    def cuts(self) -> Iterator[tuple[int, int]]:
        for begin, end in pairwise(self._begins):
            yield from self._cuts(begin, end)

    def slab(self, start: int, stop: int) -> Tensor:
        place = bisect_right(self._begins, start) - 1
        skipped = start - self._begins[place]
        dtype = self._entries[0][place].dtype
        slab = torch.empty(len(self), stop - start, dtype=dtype)
        for path, entries, row in zip(self._paths, self._entries, slab, strict=True):
            _read(path, entries[place].offset + skipped * dtype.itemsize, row)
        return slab


def _read(path: Path, offset: int, row: Tensor) -> None:
    """Fill the row from the file: into its own memory, so that no page stays mapped."""
    memory: Any = row.view(torch.uint8).numpy()
    left = memoryview(memory)
    try:
        with path.open("rb", buffering=0) as file:
            while len(left):
                count = os.preadv(file.fileno(), [left], offset)
                if count == 0:
                    raise UpdateError(f"{path}: shorter than it was; hand it in again")
                left, offset = left[count:], offset + count
    except OSError as error:
        raise UpdateError(f"{path}: cannot be read ({error.strerror})") from error


def _entries(path: Path) -> list[Entry]:
    """The trainable tensors of a file, by name; the library checks that they fit into it."""
    try:
        with safe_open(path, "pt") as checked:
            names = sorted(checked.keys())
        with path.open("rb") as file:
            size = int.from_bytes(file.read(8), "little")
            head = json.loads(file.read(size))
    except (OSError, SafetensorError, ValueError) as error:
        raise UpdateError(f"{path}: not a safetensors file ({reason(error)})") from error
    found = [
        Entry(
            name, tuple(head[name]["shape"]), TYPES[kind], 8 + size + head[name]["data_offsets"][0]
        )
        for name in names
        if (kind := head[name]["dtype"]) in TYPES and name.rsplit(".", 1)[-1] not in BUFFER_NAMES
    ]
    if not any(entry.size for entry in found):
        raise UpdateError(f"{path}: holds no floats, so there is nothing to average")
    return found


def _ordered(path: Path, entries: list[Entry], order: Sequence[str] | None) -> list[Entry]:
    if order is None:
        return entries
    place = {name: i for i, name in enumerate(order)}
    for entry in entries:
        if entry.name not in place:
            raise UpdateError(f"{path}: {entry.name!r} has no place in the order; name it there")
    return sorted(entries, key=lambda entry: place[entry.name])


def _check_same(path: Path, ours: list[Entry], first: Path, theirs: list[Entry]) -> None:
    for name in {entry.name for entry in ours} ^ {entry.name for entry in theirs}:
        raise UpdateError(f"{path}: {name!r} is not in both it and {first.name}")
    for one, other in zip(ours, theirs, strict=True):
        if (one.shape, one.dtype) != (other.shape, other.dtype):
            raise UpdateError(
                f"{path}: {one.name!r} is {one.dtype} of {one.shape}, and in {first.name} "
                f"{other.dtype} of {other.shape}; all must train the same model"
            )
