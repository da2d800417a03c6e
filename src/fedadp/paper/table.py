"""Table 1, beside the paper's."""

from __future__ import annotations

import math
from collections.abc import Iterator

from fedadp.paper.published import TABLE_1
from fedadp.paper.results import ByCell, BySeed, rounds_to_target, spell_count
from fedadp.paper.statistics import Estimate, Saving, rounds, saved

HEAD = (
    "| data, IID + skewed | classes | strategy | paper | ours (median) | 95 % interval | "
    "paper's inside | by seed | saved, paper | saved, ours |\n"
    "| --- | ---: | --- | ---: | ---: | ---: | --- | --- | ---: | ---: |"
)


def table(found: ByCell, most: int = 300) -> str:
    """Markdown: a row per cell and strategy; what has not run yet is a dash."""
    return "\n".join([HEAD, *_rows(found, most)])


def _rows(found: ByCell, most: int) -> Iterator[str]:
    for cell, paper in TABLE_1.items():
        data, mix, classes = cell.split("-")
        ours = found.get(cell, {})
        for strategy in ("fedavg", "fedadp"):
            runs = ours.get(strategy, {})
            counts = rounds_to_target(runs)
            estimate = rounds(list(counts.values()), most) if counts else None
            saving = ["", ""]
            if strategy == "fedadp":
                base = rounds_to_target(ours.get("fedavg", {}))
                saving = [_printed(cell), _saving(saved(counts, base, most))]
            cells = [
                f"{data} {mix.replace('+', ' + ')}",
                classes,
                strategy,
                str(paper[strategy]),
                _middle(estimate, runs),
                _interval(estimate, most),
                _inside(estimate, paper[strategy].rounds),
                ", ".join(spell_count(counts[seed], most) for seed in sorted(counts)) or "-",
                *saving,
            ]
            yield "| " + " | ".join(cells) + " |"


def _printed(cell: str) -> str:
    """What the paper's own numbers say is saved."""
    avg, adp = TABLE_1[cell]["fedavg"].rounds, TABLE_1[cell]["fedadp"].rounds
    if adp is None:
        return "-"
    return f"{1 - adp / avg:.1%}" if avg is not None else f"over {1 - adp / 300:.1%}"


def _middle(estimate: Estimate | None, runs: BySeed) -> str:
    if estimate is None:
        return "-"
    if estimate.middle == math.inf:
        best = sorted(run.best for run in runs.values())[len(runs) // 2]
        return f"N/A ({best:.2%})".replace("%", " %")
    text = f"{estimate.middle:g}"
    return text if estimate.seeds > 1 else f"({text})"


def _interval(estimate: Estimate | None, most: int) -> str:
    if estimate is None:
        return "-"
    if estimate.low is None or estimate.high is None:
        return "one seed"
    if estimate.low >= most:
        return f"> {most}"
    high = f"over {most}" if estimate.high == math.inf else f"{estimate.high:.0f}"
    return f"{estimate.low:.0f} to {high}"


def _inside(estimate: Estimate | None, printed: int | None) -> str:
    if estimate is None or estimate.low is None:
        return "-"
    if printed is None:  # it would have taken more than the paper's 300
        return "yes" if estimate.high == math.inf else "no"
    return "yes" if estimate.holds(printed) else "no"


def _saving(saving: Saving | None) -> str:
    if saving is None:
        return "-"
    found = saving.estimate
    text = f"{'at least ' if saving.at_least else ''}{found.middle:.1%}"
    if found.low is None or found.high is None:
        return f"({text})"
    return f"{text} ({found.low:.0%} to {found.high:.0%})"
