"""How far the parts of the paper are, and what came of them so far."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from statistics import median
from typing import Any

from rich.table import Table

from fedadp.console import Console
from fedadp.paper.carry_out import state
from fedadp.paper.parts import TITLES, Planned, plan
from fedadp.paper.results import by_cell, rounds_to_target
from fedadp.paper.statistics import rounds
from fedadp.paper.theory import terms_of

Found = dict[str, Any]


def status(
    folder: Path,
    parts: Sequence[str],
    *,
    cnn: str | None = None,
    seeds: int | None = None,
    cells: Sequence[str] | None = None,
) -> Found:
    """Runs, rounds and results, part by part; parts may share runs."""
    found: Found = {}
    for part in parts:
        if part == "theory":
            found[part] = {"finished": len(terms_of(folder))}
            continue
        planned = plan(folder, [part], cnn=cnn, seeds=seeds, cells=cells)
        found[part] = {**asdict(state(planned)), "cells": _results(planned)}
    return found


def _results(planned: Sequence[Planned]) -> Found:
    """By cell and strategy: seeds, rounds to the target, and the best accuracy."""
    return {
        cell: {
            strategy: {
                "seeds": sorted(runs),
                "rounds_to_target": list(rounds_to_target(runs).values()),
                "best_accuracy": [runs[seed].best for seed in sorted(runs)],
                "most": max(run.experiment.rounds for run in runs.values()),
            }
            for strategy, runs in strategies.items()
        }
        for cell, strategies in by_cell(planned).items()
    }


def show_status(found: Found) -> None:
    table = _table("part", "what", "runs finished", "rounds done")
    for part, told in found.items():
        title = TITLES[part].partition(": ")[2] or TITLES[part]
        if part == "theory":
            table.add_row(part, title, str(told["finished"]), "")
            continue
        rounds_done = f"{told['rounds']:,}"
        if told["finished"] < told["runs"]:
            rounds_done += f" of at most {told['most']:,}"
        table.add_row(part, title, f"{told['finished']} of {told['runs']}", rounds_done)
    Console().print(table)


def show_results(found: Found) -> None:
    """What came of each cell, under each strategy."""
    for part, told in found.items():
        table = _table("cell", "strategy", "rounds to target", "best accuracy", "seeds")
        table.title, table.title_justify = TITLES[part], "left"
        for cell, strategies in told.get("cells", {}).items():
            for strategy, came in strategies.items():
                best = f"{median(came['best_accuracy']):.2%}"
                table.add_row(cell, strategy, _middle(came), best, str(len(came["seeds"])))
        if table.row_count:
            Console().print(table)


def _middle(came: Found) -> str:
    if not came["rounds_to_target"]:
        return "no target"
    middle = rounds(came["rounds_to_target"], came["most"]).middle
    return f"{middle:g}" if middle <= came["most"] else f"> {came['most']}"


def _table(*names: str) -> Table:
    table = Table(header_style="bold", show_edge=False)
    texts = ("part", "what", "cell", "strategy")
    for name in names:
        table.add_column(name, justify="left" if name in texts else "right")
    return table
