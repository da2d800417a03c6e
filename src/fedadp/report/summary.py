"""What came of runs: rounds to a target, and how many of them a strategy saves."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

from rich.table import Table

from fedadp.experiment import describe
from fedadp.runs import Run


@dataclass(frozen=True)
class Row:
    """One strategy over all seeds."""

    strategy: str
    seeds: tuple[int, ...]
    rounds_to_target: tuple[int | None, ...]  # one per seed; None: not within the rounds
    best_accuracy: tuple[float, ...]
    rounds: tuple[int, ...]
    saved: tuple[float | None, ...]  # share of the first strategy's rounds, seed by seed


def summarize(runs: Sequence[Run], target: float | None) -> list[Row]:
    """A row per strategy; the first one is what the others are measured against."""
    groups: dict[str, list[Run]] = {}
    for run in runs:
        groups.setdefault(describe(run.experiment.strategy), []).append(run)
    baseline = {run.experiment.seed: _reached(run, target) for run in next(iter(groups.values()))}
    return [
        Row(
            strategy=name,
            seeds=tuple(run.experiment.seed for run in group),
            rounds_to_target=tuple(_reached(run, target) for run in group),
            best_accuracy=tuple(run.best for run in group),
            rounds=tuple(run.rounds for run in group),
            saved=tuple(
                _saved(_reached(run, target), baseline.get(run.experiment.seed)) for run in group
            ),
        )
        for name, group in groups.items()
    ]


def table(rows: Sequence[Row], target: float | None) -> Table:
    """The rows, for a terminal."""
    shown = Table(title=None, header_style="bold", show_edge=False)
    shown.add_column("strategy")
    if target is not None:
        shown.add_column(f"rounds to {100 * target:g} %", justify="right")
        if len(rows) > 1:
            shown.add_column("rounds saved", justify="right")
    shown.add_column("best accuracy", justify="right")
    shown.add_column("rounds run", justify="right")
    shown.add_column("seeds", justify="right")
    for i, row in enumerate(rows):
        cells = [row.strategy]
        if target is not None:
            cells.append(_rounds(row))
            if len(rows) > 1:
                cells.append("" if i == 0 else _saving(row))
        cells += [
            f"{median(row.best_accuracy):.2%}",
            _span(row.rounds),
            str(len(row.seeds)),
        ]
        shown.add_row(*cells)
    return shown


def as_json(rows: Sequence[Row], target: float | None, runs: Sequence[Run]) -> dict[str, Any]:
    folders = [str(run.folder) for run in runs]
    return {"target": target, "strategies": [asdict(row) for row in rows], "folders": folders}


def _reached(run: Run, target: float | None) -> int | None:
    return None if target is None else run.rounds_to(target)


def _saved(ours: int | None, theirs: int | None) -> float | None:
    return None if ours is None or theirs is None else 1 - ours / theirs


def _rounds(row: Row) -> str:
    """The median, counting a run that never got there as longer than all others."""
    counts = sorted(math.inf if n is None else n for n in row.rounds_to_target)
    low, middle, high = (
        f"> {max(row.rounds)}" if n == math.inf else f"{n:g}"
        for n in (counts[0], median(counts), counts[-1])
    )
    return middle if low == high else f"{middle} ({low} to {high})"


def _saving(row: Row) -> str:
    known = [saved for saved in row.saved if saved is not None]
    if not known:
        return "not known"
    text = f"{median(known):.1%}"
    return text if len(known) == len(row.saved) else f"{text} (of {len(known)} seeds)"


def _span(numbers: Sequence[int]) -> str:
    low, high = min(numbers), max(numbers)
    return f"{low}" if low == high else f"{low} to {high}"
