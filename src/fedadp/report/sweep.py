"""Run after run, with progress; a table and a picture at the end."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fedadp.console import Console
from fedadp.drive import run
from fedadp.errors import RunError
from fedadp.experiment import Experiment
from fedadp.report.jobs import run_side_by_side
from fedadp.report.plots import accuracy_over_rounds
from fedadp.report.progress import Watcher
from fedadp.report.summary import as_json, summarize, table
from fedadp.stopping import keeping


def sweep(
    experiments: Sequence[Experiment],
    homes: Sequence[Path],
    folder: Path,
    *,
    restart: bool = False,
    quiet: bool = False,
    show: bool = True,
    jobs: int = 1,
) -> dict[str, Any]:
    """Run each in its home, `jobs` at a time, and say what came of it; the picture is for all."""
    console = Console(stderr=True)
    target = experiments[0].target
    with keeping(), Watcher(console, quiet) as watcher:
        if jobs > 1:
            runs = run_side_by_side(experiments, homes, restart, watcher, jobs)
        else:
            runs = [
                run(experiment, home, restart=restart, watch=watcher.begin(experiment))
                for experiment, home in zip(experiments, homes, strict=True)
            ]
    # only now, for the bars would draw over it
    rows = summarize(runs, target)
    result = as_json(rows, target, runs)
    picture = (folder if len(runs) > 1 else homes[0]) / "accuracy.png"
    try:  # before the table, whose reader may have gone
        result["picture"] = str(accuracy_over_rounds(runs, target, picture))
        said = "" if quiet else f"picture: {picture}"
    except RunError as error:  # the runs are what counts
        said = f"no picture: {error}"
    if show:
        Console().print(table(rows, target))
    if said:
        console.print(said, highlight=False, soft_wrap=True)
    return result
