"""The page of results, made from what was run: numbers and pictures here, findings in notes/."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from fedadp.atomic import write_atomically
from fedadp.paper import readings
from fedadp.paper.figures import FIGURES
from fedadp.paper.parts import CNNS, TITLES, Planned, plan
from fedadp.paper.results import (
    ByCell,
    accuracy_at_end,
    by_cell,
    core_hours,
    rounds_to_target,
    spell_count,
)
from fedadp.paper.statistics import interval, rounds
from fedadp.paper.table import table
from fedadp.paper.verdict import HEAD, draw_theory, verdicts

NAMED = {"cnn": "1,663,370 parameters, as stated", "cnn-valid": "582,026 parameters, as listed"}


def write_page(folder: Path) -> Path:
    """Draw every figure that has runs, and write the page."""
    page = folder / "README.md"
    text = "\n".join(_lines(folder))
    write_atomically(page, text.encode())
    return page


def _lines(folder: Path) -> Iterator[str]:
    yield "# The paper, reproduced\n"
    yield "Written by `fedadp paper page` from the raw results; do not edit.\n"
    yield from _note(folder, "introduction")
    for part, title in TITLES.items():
        yield f"## {title}\n"
        yield from _note(folder, part)
        yield from _part(folder, part)


def _part(folder: Path, part: str) -> Iterator[str]:
    if part == "theory":
        yield from _theory(folder)
    elif part == "readings":
        yield from readings.lines(folder)
    elif part == "table1":
        yield from _table1(folder)
    else:
        planned = plan(folder, [part], seeds=_most_seeds(folder, part))
        yield from _shown(folder, part, planned, by_cell(planned))


def _table1(folder: Path) -> Iterator[str]:
    """A table per reading of the CNN that has runs."""
    seeds = _most_seeds(folder, "table1")
    plans = {cnn: plan(folder, ["table1"], cnn=cnn, seeds=seeds) for cnn in CNNS}
    found = {cnn: runs for cnn in CNNS if (runs := by_cell(plans[cnn]))}
    for cnn, runs in found.items():
        yield f"### {cnn}: {NAMED[cnn]}\n"
        yield from _shown(folder, "table1", plans[cnn], runs)
    if not found:
        yield from _shown(folder, "table1", [], {})


def _shown(folder: Path, part: str, planned: Sequence[Planned], found: ByCell) -> Iterator[str]:
    if not found:
        yield f"Nothing has been run yet: `fedadp paper {part}`.\n"
        return
    if part == "table1":
        yield table(found) + "\n"
    elif part in FIGURES:
        FIGURES[part](found, folder / "figures")
        yield f"![{TITLES[part]}](figures/{part}.svg)\n"
    if part == "fig3":
        yield "\n".join(_ends(found)) + "\n"
    elif part not in ("table1", "fig2", "fig4", "fig5", "fig6"):
        yield "\n".join(_counts(found)) + "\n"
    finished = sum(one.finished() is not None for one in planned)
    seeds = sorted({s for cell in found.values() for runs in cell.values() for s in runs})
    yield (
        f"*{finished} of {len(planned)} runs finished; seeds {', '.join(map(str, seeds))}; "
        f"{core_hours(planned):.1f} core hours. `fedadp paper {part}` runs what is missing.*\n"
    )


def _counts(found: ByCell) -> Iterator[str]:
    """Rounds to the target, cell by cell."""
    yield "| cell | strategy | rounds to the target, by seed | median |\n| --- | --- | --- | ---: |"
    for cell, strategies in found.items():
        for strategy, runs in strategies.items():
            most = next(iter(runs.values())).experiment.rounds
            counts = rounds_to_target(runs)
            each = ", ".join(spell_count(count, most) for count in counts.values())
            middle = rounds(list(counts.values()), most).middle
            yield f"| {cell} | {strategy} | {each} | {middle:g} |"


def _ends(found: ByCell) -> Iterator[str]:
    """The accuracy after the last round, and the paired gain over FedAvg with its interval."""
    yield "| cell | fedavg | fedadp | gain, points (95 % interval) | seeds |"
    yield "| --- | ---: | ---: | ---: | ---: |"
    for cell, strategies in found.items():
        ends = {name: accuracy_at_end(runs) for name, runs in strategies.items()}
        both = sorted(ends.get("fedavg", {}).keys() & ends.get("fedadp", {}).keys())
        if not both:
            continue
        gains = [100 * (ends["fedadp"][seed] - ends["fedavg"][seed]) for seed in both]
        means = [sum(ends[name][s] for s in both) / len(both) for name in ("fedavg", "fedadp")]
        limits = interval(gains)
        told = "" if limits is None else f" ({limits[0]:+.2f} to {limits[1]:+.2f})"
        gain = f"{sum(gains) / len(gains):+.2f}{told}"
        yield f"| {cell} | {means[0]:.2%} | {means[1]:.2%} | {gain} | {len(both)} |"


def _theory(folder: Path) -> Iterator[str]:
    found = verdicts(folder)
    if not found:
        yield "Nothing has been run yet: `fedadp paper theory`.\n"
        return
    draw_theory(folder, folder / "figures")
    yield "![The bound and what was measured](figures/theory.svg)\n"
    yield "\n".join([HEAD, *(one.row() for one in found)]) + "\n"


def _most_seeds(folder: Path, part: str) -> int:
    """As many seeds as the file asks for, or more where more were run."""
    asked = {one.experiment.seed for one in plan(folder, [part])}
    there = [*asked]
    for home in (folder / "results").glob("*/*/*-seed-*"):
        text = home.name.partition("-seed-")[2].partition("-")[0]
        there.append(int(text) if text.isdigit() else 0)
    return max(there) + 1 if part in ("table1", "fig3", "fig4") else max(asked) + 1


def _note(folder: Path, name: str) -> Iterator[str]:
    """What a person found, where it was written down."""
    file = folder / "notes" / f"{name}.md"
    if file.exists():
        yield file.read_text(encoding="utf-8").strip() + "\n"
