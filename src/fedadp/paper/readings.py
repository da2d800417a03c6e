"""What the paper leaves open, side by side: which CNN, which inputs, and how far off each is."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

from fedadp.paper.parts import CNNS, plan
from fedadp.paper.published import TABLE_1
from fedadp.paper.results import ByCell, BySeed, by_cell, rounds_to_target, spell_count
from fedadp.paper.statistics import rounds

RAW = "-raw"  # ends the name of a cell whose inputs are not normalised
HEAD = (
    "| CNN | inputs | cell | FedAvg: paper | ours, by seed | FedAdp: paper | ours, by seed | "
    "off by a factor of |\n| --- | --- | --- | ---: | ---: | ---: | ---: | ---: |"
)


class Off(NamedTuple):
    """How far a number of rounds is from the paper's."""

    log: float
    at_least: bool  # it was not reached, so that it is off by more


@dataclass(frozen=True)
class Reading:
    """One of Table 1's cells under one reading, for both strategies."""

    cnn: str
    inputs: str
    cell: str
    runs: dict[str, BySeed]

    def off(self) -> list[Off]:
        """How many times more or fewer rounds than the paper's, for either strategy."""
        found = []
        for strategy, runs in self.runs.items():
            paper, most = TABLE_1[self.cell][strategy].rounds, _most(runs)
            middle = rounds(list(rounds_to_target(runs).values()), most).middle
            arrived = middle <= most
            if paper is not None and (arrived or paper <= most):
                found.append(Off(abs(math.log(min(middle, most) / paper)), not arrived))
        return found

    def row(self) -> str:
        cells = [self.cnn, self.inputs, self.cell]
        for strategy in ("fedavg", "fedadp"):
            runs = self.runs.get(strategy, {})
            counts = rounds_to_target(runs).values()
            each = [spell_count(count, _most(runs)) for count in counts]
            cells += [str(TABLE_1[self.cell][strategy]), ", ".join(each) or "-"]
        return "| " + " | ".join([*cells, _mean(self.off())]) + " |"


def readings(folder: Path) -> list[Reading]:
    """What has been run, of the cells that the file of readings asks for."""
    cells = {one.cell for one in plan(folder, ["readings"])}
    found = []
    for cnn in CNNS:
        runs: ByCell = by_cell(plan(folder, ["table1"], cnn=cnn))
        runs |= by_cell(plan(folder, ["readings"], cnn=cnn))
        for name in sorted(cells, reverse=True):
            cell = name.removesuffix(RAW)
            both = {cell: "normalised", cell + RAW: "from 0 to 1"}
            found += [Reading(cnn, both[one], cell, runs[one]) for one in both if one in runs]
    return found


def lines(folder: Path) -> Iterator[str]:
    """Markdown: every cell under every reading, then how far off each reading is in all."""
    found = readings(folder)
    if not found:
        yield "Nothing has been run yet: `fedadp paper readings`.\n"
        return
    yield "\n".join([HEAD, *(one.row() for one in found)]) + "\n"
    for cnn, inputs in dict.fromkeys((one.cnn, one.inputs) for one in found):
        same = [one for one in found if (one.cnn, one.inputs) == (cnn, inputs)]
        both = [off for one in same for off in one.off()]
        yield f"- {cnn}, {inputs}: off by a factor of {_mean(both)}"
    yield ""


def _mean(off: list[Off]) -> str:
    """The geometric mean."""
    if not off:
        return "-"
    text = f"{math.exp(fmean(one.log for one in off)):.2f}"
    return f"at least {text}" if any(one.at_least for one in off) else text


def _most(runs: BySeed) -> int:
    return max((run.experiment.rounds for run in runs.values()), default=300)
