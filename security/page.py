"""The figures as tables, between their marks in docs/security.md."""

from __future__ import annotations

from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
RESULTS = Path(__file__).parent / "results.json"
PAGE = ROOT / "docs" / "security.md"


def written(page: str, found: dict[str, Any]) -> str:
    """The page with the tables of these figures."""
    for name, table in (("attacks", _attacks(found)), ("leaks", _leaks(found))):
        head, _, rest = page.partition(f"<!-- {name} -->")
        _, end, tail = rest.partition(f"<!-- end of {name} -->")
        page = f"{head}<!-- {name} -->\n\n{table}\n\n{end}{tail}"
    return page


def _attacks(found: dict[str, Any]) -> str:
    names = list(next(iter(found["attacks"].values())))
    lines = [_row("attack", *(f"`{name}`" for name in names)), _row("---", *["---:"] * len(names))]
    for attack, row in found["attacks"].items():
        cells = []
        for name in names:
            accuracy, weight = row[name]
            told = "" if attack == "none" else f", {weight:.3f}"
            cells.append(f"{100 * accuracy:.1f}{told}")
        lines.append(_row(attack, *cells))
    return "\n".join(lines)


def _leaks(found: dict[str, Any]) -> str:
    lines = [_row("whether a node ...", "runs", "median", "80 % of runs"), _row(*["---"] * 4)]
    for what, area in found["leaks"]["areas"].items():
        span = f"{area['from']:g} to {area['to']:g}"
        lines.append(_row(what, str(area["runs"]), f"{area['median']:g}", span))
    return "\n".join(lines)


def _row(*cells: str) -> str:
    return "| " + " | ".join(cells) + " |"
