"""What a model's arrays must look like, and the way between them and flat vectors."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from flwr.app import Array, ArrayRecord
from torch import Tensor, nn

from fedadp.errors import SettingError, UpdateError, show
from fedadp.flat import Flat
from fedadp.inmemory import BUFFER_NAMES

LONGEST_HEADER = 4096  # bytes before the numbers; NumPy writes 128 for most arrays
START = 10  # of them before the text: what marks NumPy's arrays, a version, the text's length
Values = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Entry:
    """One array of a model."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    learnt: bool  # else a statistic, such as BatchNorm's: averaged by share, without an angle

    @cached_property
    def size(self) -> int:
        return int(np.prod(self.shape, dtype=np.int64))

    @cached_property
    def heads(self) -> dict[bytes, bool]:
        """What NumPy writes before such numbers, and whether they come column by column."""
        heads = {}
        for fortran in (False, True):
            told = {"descr": np.dtype(self.dtype).str, "fortran_order": fortran}
            out = io.BytesIO()
            np.lib.format.write_array_header_1_0(out, {**told, "shape": self.shape})
            heads[out.getvalue()[START:].rstrip()] = fortran
        return heads

    def read(self, array: Array) -> Values:
        """The numbers, in this shape and type; whoever sent them may have meant harm.

        Length first, then the head, numbers last. A head is never interpreted: it must be, letter
        by letter, what NumPy writes for this shape and type.
        """
        if array.stype != "numpy.ndarray":
            raise UpdateError(f"{self.name!r} is packed as {show(array.stype)}, not by NumPy")
        if (array.dtype, tuple(array.shape)) != (self.dtype, self.shape):
            sent = f"{show(array.dtype)} {show(list(array.shape[:8]))}".replace("'", "")
            raise UpdateError(f"{self.name!r} is {sent}, not {self.dtype} {list(self.shape)}")
        dtype = np.dtype(self.dtype)
        room = len(array.data) - self.size * dtype.itemsize
        if not START < room <= LONGEST_HEADER:
            wanted = self.size * dtype.itemsize
            raise UpdateError(f"{self.name!r} has {len(array.data)} bytes, not {wanted} and a head")
        start = b"\x93NUMPY\x01\x00" + (room - START).to_bytes(2, "little")
        head = array.data[:room]
        if not head.startswith(start):
            raise UpdateError(f"{self.name!r} does not begin as NumPy's arrays do")
        fortran = self.heads.get(head[START:].rstrip())
        if fortran is None:
            raise UpdateError(f"{self.name!r} is not what its head says")
        numbers = np.frombuffer(array.data, dtype, offset=room)
        return numbers.reshape(self.shape, order="F" if fortran else "C")


@dataclass(frozen=True)
class Schema:
    """All arrays of a model: those that are learnt end to end, and the statistics end to end."""

    entries: tuple[Entry, ...]

    @staticmethod
    def of_arrays(arrays: Mapping[str, Array]) -> Schema:
        """As a server's first arrays have it; what BatchNorm counts is told by its name."""
        entries = []
        for name, array in arrays.items():
            kind = np.dtype(array.dtype).kind
            if kind not in "fiub":
                raise SettingError(f"arrays.{name}", f"{array.dtype} are no numbers to be averaged")
            learnt = kind == "f" and name.rsplit(".", 1)[-1] not in BUFFER_NAMES
            entries.append(Entry(name, array.dtype, tuple(array.shape), learnt))
        if not any(entry.learnt for entry in entries):
            raise SettingError("arrays", "none holds floats, so there is nothing to learn")
        return Schema(tuple(entries))

    @staticmethod
    def of_module(module: nn.Module) -> Schema:
        """As a module has it: trainable parameters are learnt, all buffers are statistics."""
        flat = Flat(module)

        def entry(name: str, values: Tensor, learnt: bool) -> Entry:
            dtype = str(values.dtype).removeprefix("torch.")
            return Entry(name, dtype, tuple(values.shape), learnt)

        learnt = [entry(*pair, True) for pair in zip(flat.names, flat.parameters, strict=True)]
        return Schema((*learnt, *(entry(*pair, False) for pair in module.named_buffers())))

    @cached_property
    def learnt(self) -> tuple[Entry, ...]:
        return tuple(entry for entry in self.entries if entry.learnt)

    @cached_property
    def statistics(self) -> tuple[Entry, ...]:
        return tuple(entry for entry in self.entries if not entry.learnt)

    @cached_property
    def size(self) -> int:  # P
        return sum(entry.size for entry in self.learnt)

    @cached_property
    def dtype(self) -> torch.dtype:
        """What holds every learnt number."""
        widest = np.result_type(*(np.dtype(entry.dtype) for entry in self.learnt))
        return torch.from_numpy(np.empty(0, widest)).dtype

    @cached_property
    def fingerprint(self) -> str:
        """Two models with the same have the same arrays."""
        return hashlib.sha256(repr(self.entries).encode()).hexdigest()

    def read(self, arrays: Mapping[str, Array], row: Tensor, base: Tensor | None = None) -> Tensor:
        """Fill the row (P,) with the learnt numbers less those of the base; the statistics (Q,)."""
        if odd := arrays.keys() ^ {entry.name for entry in self.entries}:
            name = min(odd)
            there = "is not part of the model" if name in arrays else "is missing"
            raise UpdateError(f"{name[:80]!r} {there}")
        begin, out = 0, row.numpy()
        with np.errstate(all="ignore"):  # what is not finite is found by whoever asked
            for entry in self.learnt:
                end = begin + entry.size
                numbers = entry.read(arrays[entry.name]).reshape(-1)
                if base is None:
                    out[begin:end] = numbers
                else:
                    np.subtract(numbers, base[begin:end].numpy(), out=out[begin:end])
                begin = end
        found = [entry.read(arrays[entry.name]).reshape(-1) for entry in self.statistics]
        return torch.from_numpy(np.concatenate([np.zeros(0), *found]))

    def flatten(self, arrays: Mapping[str, Array]) -> tuple[Tensor, Tensor]:  # (P,), (Q,)
        """All learnt numbers, and all statistics."""
        row = torch.empty(self.size, dtype=self.dtype)
        return row, self.read(arrays, row)

    def record(self, params: Tensor, statistics: Tensor) -> ArrayRecord:
        """The arrays that hold these numbers."""
        arrays, places = {}, {True: 0, False: 0}
        for entry in self.entries:
            begin = places[entry.learnt]
            places[entry.learnt] = end = begin + entry.size
            numbers = (params if entry.learnt else statistics)[begin:end].numpy()
            dtype = np.dtype(entry.dtype)
            if dtype.kind in "iub":
                numbers = numbers.round()
            arrays[entry.name] = Array(numbers.astype(dtype, copy=False).reshape(entry.shape))
        return ArrayRecord(arrays)
