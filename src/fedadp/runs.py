"""The run folder: the experiment, its metrics, and the round to go on from."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor

from fedadp.checkpoint import load_round, save_round, write_atomically
from fedadp.errors import RunError
from fedadp.experiment import Experiment, load
from fedadp.federation import Federation
from fedadp.loop import Round

Record = dict[str, Any]  # one line of metrics.jsonl


@dataclass(frozen=True)
class Run:
    """What happened: an experiment and its metrics, round by round."""

    experiment: Experiment
    folder: Path
    records: tuple[Record, ...] = field(repr=False)
    kinds: tuple[str, ...] = field(repr=False, default=())  # of each node's data

    @property
    def rounds(self) -> int:
        return len(self.records)

    def rounds_to(self, accuracy: float) -> int | None:
        """The first round whose test accuracy is at least this; None where there is none."""
        measured = zip(*self.curve("accuracy"), strict=True)
        return next((number for number, found in measured if found >= accuracy), None)

    def curve(self, name: str) -> tuple[list[int], list[float]]:
        """A metric over the rounds in which it was measured."""
        have = [record for record in self.records if record.get(name) is not None]
        return [record["round"] for record in have], [record[name] for record in have]

    @property
    def best(self) -> float:
        """The highest test accuracy."""
        return max(self.curve("accuracy")[1], default=0.0)


class Folder:
    """A run folder on disk."""

    def __init__(self, path: Path, experiment: Experiment) -> None:
        self.path, self.experiment = path, experiment
        self._metrics = path / "metrics.jsonl"
        self._timings = path / "timings.jsonl"
        self._checkpoint = path / "checkpoint.safetensors"
        self._nodes = path / "nodes.json"

    def prepare(self, restart: bool) -> None:
        """Make the folder ours, or say why it cannot be."""
        toml = self.path / "experiment.toml"
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            if self._checkpoint.exists() and not restart:
                self._check_same(toml)
            elif not toml.exists() and any(self.path.iterdir()):
                raise RunError(f"{self.path}: holds other files; give a folder of its own")
            if restart:
                for file in (self._metrics, self._timings, self._checkpoint):
                    file.unlink(missing_ok=True)
            write_atomically(toml, self.experiment.toml().encode())
        except OSError as error:
            raise RunError(
                f"{self.path}: cannot be written ({error.strerror}); give another folder"
            ) from error

    def resume(self, template: Any) -> tuple[Round | None, list[Record]]:
        """The last round that was kept, and the metrics up to it."""
        if not self._checkpoint.exists():
            self._metrics.unlink(missing_ok=True)
            self._timings.unlink(missing_ok=True)
            return None, []
        kept = load_round(self._checkpoint, template, self.experiment.digest)
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

    def describe(self, federation: Federation) -> None:
        """Say who holds what, beside the metrics that only name the nodes."""
        nodes = {"kinds": federation.kinds, "examples_per_class": federation.counts}
        write_atomically(self._nodes, json.dumps(plain(nodes)).encode())

    def run(self, records: Sequence[Record]) -> Run:
        return Run(self.experiment, self.path, tuple(records), read_kinds(self._nodes))

    def append(self, record: Record, seconds: Mapping[str, float]) -> Record:
        """One more line of metrics, as it can be read again; times apart, for they never repeat."""
        line: Record = plain(record)
        for file, entry in ((self._metrics, line), (self._timings, dict(seconds))):
            with file.open("ab") as out:
                out.write(json.dumps(entry).encode() + b"\n")
        return line

    def keep(self, now: Round) -> None:
        """From here the run can go on: metrics first, then the round they lead to."""
        for file in (self._metrics, self._timings):
            with file.open("ab") as out:
                os.fsync(out.fileno())
        save_round(self._checkpoint, now, self.experiment.digest)

    def _check_same(self, toml: Path) -> None:
        (there,) = load(toml)
        if there.digest != self.experiment.digest:
            changed = _difference(there.identity, self.experiment.identity)
            raise RunError(
                f"{self.path}: holds a run of another experiment ({changed}); "
                "give another folder, or start over with --restart"
            )


def read_records(path: Path) -> list[Record]:
    """The lines of a metrics file; one that a crash cut off does not count."""
    if not path.exists():
        return []
    whole = [line for line in path.read_bytes().splitlines(keepends=True) if line.endswith(b"\n")]
    try:
        return [json.loads(line) for line in whole]
    except ValueError as error:
        raise RunError(
            f"{path}: not a metrics file ({error}); start over with --restart"
        ) from error


def read_kinds(path: Path) -> tuple[str, ...]:
    return tuple(json.loads(path.read_bytes())["kinds"]) if path.exists() else ()


def open_run(folder: str | Path) -> Run:
    """A run from its folder."""
    path = Path(folder)
    if not (path / "experiment.toml").exists():
        raise RunError(f"{path}: no run is here; give a folder that `fedadp run` wrote")
    (experiment,) = load(path / "experiment.toml")
    return Folder(path, experiment).run(read_records(path / "metrics.jsonl"))


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
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted(old.keys() | new.keys()):
            if old.get(key) != new.get(key):
                return _difference(old.get(key), new.get(key), f"{place}.{key}".lstrip("."))
    return f"{place} is {old!r} there and {new!r} here"
