"""Run after run, with progress; a table and a picture at the end."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from fedadp.drive import run
from fedadp.experiment import Experiment
from fedadp.report.plots import accuracy_over_rounds
from fedadp.report.progress import Watcher
from fedadp.report.summary import as_json, summarize, table


def sweep(
    experiments: Sequence[Experiment], folder: Path, restart: bool = False, quiet: bool = False
) -> dict[str, Any]:
    """Run them all under one folder, and say what came of it."""
    console = Console(stderr=True)
    target = experiments[0].target
    runs = []
    with Watcher(console, quiet) as watcher:
        for experiment in experiments:
            watcher.begin(experiment)
            home = folder / experiment.slug
            runs.append(run(experiment, home, restart=restart, watch=watcher))
    rows = summarize(runs, target)
    picture = accuracy_over_rounds(runs, target, folder / "accuracy.png")
    if not quiet:
        Console().print(table(rows, target))
        console.print(f"picture: {picture}", highlight=False, soft_wrap=True)
    return {**as_json(rows, target, runs), "picture": str(picture)}
