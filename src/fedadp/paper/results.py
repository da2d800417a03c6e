"""What came of the runs: by cell, strategy and seed."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from fedadp.experiment import describe
from fedadp.paper.parts import Planned, once
from fedadp.runs import Run

BySeed = dict[int, Run]
ByCell = dict[str, dict[str, BySeed]]  # cell, strategy, seed


def by_cell(planned: Sequence[Planned]) -> ByCell:
    """The finished runs; cells and strategies in the order of the file, without the empty ones."""
    found: ByCell = {}
    for one in planned:
        if (run := one.finished()) is not None:
            strategies = found.setdefault(one.cell, {})
            strategies.setdefault(describe(run.experiment.strategy), {})[run.experiment.seed] = run
    return found


def rounds_to_target(runs: BySeed) -> dict[int, int | None]:
    """By seed; None where the target was not reached. Empty where there is no target."""
    targets = [(seed, run, run.experiment.target) for seed, run in sorted(runs.items())]
    return {seed: run.rounds_to(target) for seed, run, target in targets if target is not None}


def spell_count(count: int | None, most: int) -> str:
    """Rounds to a target, or that it would have taken more than there were.

    >>> spell_count(98, 300), spell_count(None, 300)
    ('98', '> 300')
    """
    return f"> {most}" if count is None else str(count)


def accuracy_at_end(runs: Mapping[int, Run]) -> dict[int, float]:
    return {seed: run.curve("accuracy")[1][-1] for seed, run in runs.items()}


def core_hours(planned: Iterable[Planned]) -> float:
    """Of training and testing; a run on one core counts its seconds, others all cores they had."""
    seconds = 0.0
    for one in once(list(planned)):
        seconds += _seconds(one.home / "timings.jsonl")
    return seconds / 3600


def _seconds(file: Path) -> float:
    if not file.exists():
        return 0.0
    lines = file.read_text().splitlines()
    return sum(float(json.loads(line)["total"]) for line in lines)
