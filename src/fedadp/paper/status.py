"""How far the parts of the paper are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from fedadp.paper.carry_out import state
from fedadp.paper.parts import TITLES, plan


def status(
    folder: Path, parts: Sequence[str], *, cnn: str | None = None, seeds: int | None = None
) -> dict[str, Any]:
    """Runs and rounds, part by part; parts may share runs."""
    return {
        part: asdict(state(plan(folder, [part], cnn=cnn, seeds=seeds)))
        for part in parts
        if part != "theory"
    }


def show_status(found: dict[str, Any]) -> None:
    table = Table(header_style="bold", show_edge=False)
    for name in ("part", "what", "runs finished", "rounds done"):
        table.add_column(name, justify="left" if name in ("part", "what") else "right")
    for part, state_ in found.items():
        runs = f"{state_['finished']} of {state_['runs']}"
        rounds = f"{state_['rounds']:,}"
        if state_["finished"] < state_["runs"]:
            rounds += f" of at most {state_['most']:,}"
        table.add_row(part, TITLES[part].partition(": ")[2] or TITLES[part], runs, rounds)
    Console().print(table)
