"""What happened: a run, and reading it from its folder."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fedadp.errors import RunError
from fedadp.experiment import Experiment, load

METRICS = "metrics.jsonl"
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


def read_records(path: Path) -> list[Record]:
    """The lines of a metrics file; one that a crash cut off does not count."""
    try:
        lines = path.read_bytes().splitlines(keepends=True)
    except FileNotFoundError:
        return []
    whole = [line for line in lines if line.endswith(b"\n")]
    try:
        records = [json.loads(line) for line in whole]
        if [record["round"] for record in records] != list(range(1, len(records) + 1)):
            raise ValueError("its rounds are not 1, 2, 3 and so on")
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise RunError(
            f"{path}: not a run's metrics ({error}); start over with --restart"
        ) from error
    return records


def read_kinds(path: Path) -> tuple[str, ...]:
    """Each node's kind; none where the file is not there or not ours."""
    kinds = _said_of_nodes(path, "kinds")
    return tuple(map(str, kinds)) if isinstance(kinds, list) else ()


def read_digest(path: Path) -> str | None:
    """The checksum of the data that a run began with."""
    digest = _said_of_nodes(path, "sha256")
    return None if digest is None else str(digest)


def _said_of_nodes(path: Path, what: str) -> Any:
    try:
        return json.loads(path.read_bytes())[what]
    except (OSError, ValueError, KeyError, TypeError):
        return None


def count_rounds(folder: Path) -> int:
    """How many rounds a folder tells of, whatever they are of."""
    try:
        return len(read_records(folder / METRICS))
    except (RunError, OSError):
        return 0


def is_run(folder: Path) -> bool:
    """Whether a run was begun here."""
    return any((folder / name).exists() for name in (METRICS, "nodes.json", ".lock"))


def open_run(folder: str | Path) -> Run:
    """A run from its folder."""
    path = Path(folder)
    toml = path / "experiment.toml"
    if not toml.exists():
        raise RunError(f"{path}: no run is here; give a folder that `fedadp run` wrote")
    experiment, *others = load(toml)
    if others:
        raise RunError(f"{toml}: holds {len(others) + 1} experiments; a run's folder has one")
    records = tuple(read_records(path / METRICS))
    return Run(experiment, path, records, read_kinds(path / "nodes.json"))
