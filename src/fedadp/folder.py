"""The run folder on disk: the experiment, its metrics, and the round to go on from."""

from __future__ import annotations

import json
import logging
import math
import os
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor

from fedadp.atomic import UNFINISHED, write_atomically
from fedadp.changes import changes
from fedadp.checkpoint import Checkpoint, generations, newest, save_round
from fedadp.errors import FedadpError, RunError
from fedadp.experiment import Experiment, load
from fedadp.federation import Federation
from fedadp.lock import LOCK, Lock
from fedadp.loop import Round
from fedadp.promises import first_state
from fedadp.runs import Record, Run, read_digest, read_kinds, read_records
from fedadp.states import comes_back

log = logging.getLogger("fedadp")
Kept = tuple[Round | None, list[Record]]


class Folder:
    """A run folder on disk, while it is written."""

    def __init__(self, path: Path, experiment: Experiment) -> None:
        self.path, self.experiment = path, experiment
        self._toml = path / "experiment.toml"
        self._metrics = path / "metrics.jsonl"
        self._timings = path / "timings.jsonl"
        self._checkpoint = path / "checkpoint.safetensors"
        self._nodes = path / "nodes.json"
        self._lock = Lock(path)

    @cached_property
    def _digest(self) -> str:
        """Taken once: telling which engine `auto` stands for may mean to build the model."""
        return self.experiment.digest

    @cached_property
    def _first_state(self) -> Any:
        return first_state(self.experiment.strategy)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Make the folder ours for as long as we write to it, or say why it cannot be."""
        with ExitStack() as stack:
            with self._writing():
                self.path.mkdir(parents=True, exist_ok=True)
                ours = {self.path / LOCK, *self.path.glob(UNFINISHED)}
                if set(self.path.iterdir()) - ours and not self._toml.exists():
                    raise RunError(f"{self.path}: holds other files; give a folder of its own")
                stack.enter_context(self._lock.held())
                for file in self.path.glob(UNFINISHED):
                    file.unlink()
            yield

    def resume(self) -> Kept:
        """The last round that was kept, and the metrics up to it; nothing of either in a new run.

        Metrics alone are not enough, not even of all rounds: the model is wanted, too.
        """
        with self._writing():
            found, records = newest(self._checkpoint), read_records(self._metrics)
            if found is not None or records:
                self._check_same(found)
            if found is None:
                if records:
                    log.warning("%s: holds no checkpoint, so it begins again", self.path)
                return None, []
            kept = found.round(self._first_state)
            self._cut_back(kept.number, len(records))
            self._write_experiment()
            return kept, records[: kept.number]

    def _cut_back(self, rounds: int, there: int) -> None:
        """Drop the lines that came after the checkpoint: their rounds are done again."""
        if there < rounds:
            raise RunError(
                f"{self._metrics}: {there} rounds where the checkpoint has {rounds}; start over "
                "with --restart"
            )
        for file in (self._metrics, self._timings):
            lines = file.read_bytes().splitlines(keepends=True) if file.exists() else []
            if len(lines) > rounds:
                write_atomically(file, b"".join(lines[:rounds]))

    def begin(self, federation: Federation, *, anew: bool) -> None:
        """All is ready for rounds: say who holds what, and drop what a new run does not go on from.

        Not earlier, so that a mistake in an experiment costs nothing that was there.
        """
        nodes = {
            "kinds": federation.kinds,
            "examples_per_class": federation.counts,
            "sha256": federation.digest(),
        }
        if not anew and read_digest(self._nodes) not in (None, nodes["sha256"]):
            raise RunError(
                f"{self.path}: the data are not those that the run began with; bring them back, "
                "or start over with --restart"
            )
        with self._writing():
            if anew:  # metrics last: without a checkpoint they are only metrics
                latest, older = generations(self._checkpoint)
                for file in (older, latest, self._metrics, self._timings):
                    file.unlink(missing_ok=True)
                self._write_experiment()
            write_atomically(self._nodes, json.dumps(plain(nodes)).encode())

    def run(self, records: Sequence[Record]) -> Run:
        return Run(self.experiment, self.path, tuple(records), read_kinds(self._nodes))

    def append(self, record: Record, seconds: Mapping[str, float]) -> Record:
        """One more line of metrics, as it can be read again; times apart, for they never repeat."""
        try:
            line: Record = plain(record)
        except RecursionError:
            raise RunError(
                f"{self._metrics}: no file can hold notes that hold themselves"
            ) from None
        self._lock.check()
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
        if not comes_back(now.state, self._first_state):
            name = type(self.experiment.strategy).__name__
            raise RunError(
                f"strategy {name}: its state cannot be had again from a checkpoint; let init() "
                "give one of the same kind, tensors and keys aside"
            )
        self._lock.check()
        with self._writing():
            for file in (self._metrics, self._timings):
                with file.open("ab") as out:
                    os.fsync(out.fileno())
            save_round(self._checkpoint, now, self._digest, self.experiment.identity)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise RunError(
                f"{self.path}: cannot be written ({error.strerror or error}); what was kept before "
                "is still there; make room, or give another folder"
            ) from error

    def _check_same(self, found: Checkpoint | None) -> None:
        """Refuse to go on with another experiment than the one that was begun."""
        if found is not None and found.head["experiment"] == self._digest:
            return
        there = None if found is None else found.head.get("settings")
        there, here = there or self._identity_there(), self.experiment.identity
        if found is not None or there != here:
            raise RunError(
                f"{self.path}: holds a run of another experiment ({changes(there, here)}); "
                "give another folder, or start over with --restart"
            )

    def _identity_there(self) -> dict[str, Any]:
        try:
            return load(self._toml)[0].identity
        except FedadpError:
            return {}

    def _write_experiment(self) -> None:
        """A file that says the same is left alone, with its owner's words."""
        try:
            there = tomllib.loads(self._toml.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            there = {}
        if there != self.experiment.table():
            write_atomically(self._toml, self.experiment.toml().encode())


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
