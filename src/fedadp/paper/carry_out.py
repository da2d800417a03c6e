"""Run what is missing, in one view, and go on with what was stopped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fedadp.console import Console
from fedadp.drive import run
from fedadp.paper.overview import Overview
from fedadp.paper.parts import Planned, once
from fedadp.report.jobs import run_side_by_side


@dataclass(frozen=True)
class State:
    """How far the runs of some parts are."""

    runs: int
    finished: int
    rounds: int  # that are done, in runs finished or not
    most: int  # rounds there can be at the most


def state(planned: Sequence[Planned]) -> State:
    runs, finished, done, most = 0, 0, 0, 0
    for one in once(planned):
        found = one.found()
        count = 0 if found is None else found.rounds
        ended = one.finished() is not None
        runs, finished, done = runs + 1, finished + ended, done + count
        most += count if ended else one.experiment.rounds
    return State(runs, finished, done, most)


def carry_out(planned: Sequence[Planned], *, jobs: int, quiet: bool) -> None:
    """Small models one after the other on all cores, the others side by side."""
    waiting = [one for one in once(planned) if one.finished() is None]
    small = [one for one in waiting if one.experiment.model.small]
    large = [one for one in waiting if one not in small]
    with Overview(waiting, Console(stderr=True), quiet) as overview:
        for one in small if jobs > 1 else waiting:
            run(one.experiment, one.home, watch=overview.begin(one.experiment))
        if jobs > 1 and large:
            experiments, homes = [one.experiment for one in large], [one.home for one in large]
            run_side_by_side(experiments, homes, False, overview, jobs)
