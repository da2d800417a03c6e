"""The run folder on disk: the experiment, its metrics, and the round to go on from."""

from __future__ import annotations

import json
import math
import os
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from filelock import FileLock, Timeout
from torch import Tensor

from fedadp.checkpoint import load_round, read_head, save_round, write_atomically
from fedadp.errors import RunError
from fedadp.experiment import STOPS, Experiment
from fedadp.federation import Federation
from fedadp.loop import Round
from fedadp.runs import Record, Run, read_digest, read_kinds, read_records


class Folder:
    """A run folder on disk, while it is written."""

    def __init__(self, path: Path, experiment: Experiment) -> None:
        self.path, self.experiment = path, experiment
        self._toml = path / "experiment.toml"
        self._metrics = path / "metrics.jsonl"
        self._timings = path / "timings.jsonl"
        self._checkpoint = path / "checkpoint.safetensors"
        self._nodes = path / "nodes.json"

    @cached_property
    def _digest(self) -> str:
        """Taken once: telling which engine `auto` stands for may mean to build the model."""
        return self.experiment.digest

    @contextmanager
    def held(self, restart: bool) -> Iterator[None]:
        """Make the folder ours for as long as we write to it, or say why it cannot be."""
        with self._writing():
            self.path.mkdir(parents=True, exist_ok=True)
            strangers = [file for file in self.path.iterdir() if file.name != ".lock"]
        if strangers and not self._toml.exists():
            raise RunError(f"{self.path}: holds other files; give a folder of its own")
        lock = FileLock(self.path / ".lock")
        with self._writing():
            try:
                lock.acquire(blocking=False)
            except Timeout:
                raise RunError(
                    f"{self.path}: another process is at work here; wait, or give another folder"
                ) from None
        try:
            self._begin(restart)
            yield
        finally:
            lock.release()

    def _begin(self, restart: bool) -> None:
        if self._checkpoint.exists() and not restart:
            self._check_same()
        with self._writing():
            if restart:
                for file in (self._metrics, self._timings, self._checkpoint):
                    file.unlink(missing_ok=True)
            if self._table() != self.experiment.table():  # a file that says the same is left alone
                write_atomically(self._toml, self.experiment.toml().encode())

    def resume(self, template: Any) -> tuple[Round | None, list[Record]]:
        """The last round that was kept, and the metrics up to it."""
        with self._writing():
            if not self._checkpoint.exists():
                self._metrics.unlink(missing_ok=True)
                self._timings.unlink(missing_ok=True)
                return None, []
            kept = load_round(self._checkpoint, template, self._digest)
            for file in (self._metrics, self._timings):
                lines = file.read_bytes().splitlines(keepends=True) if file.exists() else []
                write_atomically(file, b"".join(lines[: kept.number]))
        records = read_records(self._metrics)
        if len(records) != kept.number:
            raise RunError(
                f"{self._metrics}: {len(records)} rounds where the checkpoint has {kept.number}; "
                "start over with --restart"
            )
        return kept, records

    def describe(self, federation: Federation, goes_on: bool) -> None:
        """Say who holds what, beside the metrics that only name the nodes."""
        nodes = {
            "kinds": federation.kinds,
            "examples_per_class": federation.counts,
            "sha256": federation.digest(),
        }
        if goes_on and read_digest(self._nodes) not in (None, nodes["sha256"]):
            raise RunError(
                f"{self.path}: the data are not those that the run began with; bring them back, "
                "or start over with --restart"
            )
        with self._writing():
            write_atomically(self._nodes, json.dumps(plain(nodes)).encode())

    def run(self, records: Sequence[Record]) -> Run:
        return Run(self.experiment, self.path, tuple(records), read_kinds(self._nodes))

    def append(self, record: Record, seconds: Mapping[str, float]) -> Record:
        """One more line of metrics, as it can be read again; times apart, for they never repeat."""
        line: Record = plain(record)
        with self._writing():
            for file, entry in ((self._metrics, line), (self._timings, dict(seconds))):
                with file.open("ab") as out:
                    out.write(json.dumps(entry).encode() + b"\n")
        return line

    def records(self) -> list[Record]:
        """The metrics of all rounds so far."""
        return read_records(self._metrics)

    def keep(self, now: Round) -> None:
        """From here the run can go on: metrics first, then the round they lead to."""
        with self._writing():
            for file in (self._metrics, self._timings):
                with file.open("ab") as out:
                    os.fsync(out.fileno())
            save_round(self._checkpoint, now, self._digest)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise RunError(
                f"{self.path}: cannot be written ({error.strerror or error}); what was kept before "
                "is still there; make room, or give another folder"
            ) from error

    def _check_same(self) -> None:
        if read_head(self._checkpoint)["experiment"] != self._digest:
            there, here = self._table() or {}, self.experiment.table()
            engines = there.pop("engine", None), here.pop("engine", None)
            if all(there.get(key) == here.get(key) for key in here.keys() - set(STOPS)):
                there, here = ({"engine": engine} for engine in engines)
            changed = _difference(there, here)
            raise RunError(
                f"{self.path}: holds a run of another experiment ({changed}); "
                "give another folder, or start over with --restart"
            )

    def _table(self) -> dict[str, Any] | None:
        try:
            return tomllib.loads(self._toml.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None


def plain(value: Any) -> Any:
    """A note as JSON has it: arrays as lists, and None for what is not a finite number."""
    if isinstance(value, Tensor | np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, Mapping):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, tuple | list):
        return [plain(entry) for entry in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, int | str) else str(value)


def _difference(old: Any, new: Any, place: str = "") -> str:
    """The first setting that differs, of those that count."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted(old.keys() | new.keys()):
            if old.get(key) != new.get(key) and (place or key not in STOPS):
                return _difference(old.get(key), new.get(key), f"{place}.{key}".lstrip("."))
    return f"{place or 'its file'} is {old!r} there and {new!r} here"
