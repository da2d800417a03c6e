"""What the figures share: curves over rounds, one per seed or a band, saved as SVG and PNG."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import median

import matplotlib as mpl

mpl.use("Agg")
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fedadp.paper.results import BySeed
from fedadp.report.plots import COLOURS, tidy
from fedadp.runs import Run

MOST_THIN = 3  # seeds that are drawn one by one; more are a median and a band
STRATEGY_COLOURS = {"fedavg": COLOURS[0], "fedadp": COLOURS[1]}


def draw(axes: Axes, runs: BySeed, metric: str, colour: str, label: str, style: str = "-") -> None:
    """A metric over rounds, of all seeds."""
    curves = [run.curve(metric) for _, run in sorted(runs.items())]
    if len(curves) > MOST_THIN:
        shortest = min((rounds for rounds, _ in curves), key=len)
        columns = list(zip(*(values[: len(shortest)] for _, values in curves), strict=True))
        lows, highs = [min(c) for c in columns], [max(c) for c in columns]
        axes.fill_between(shortest, lows, highs, color=colour, alpha=0.15, lw=0)
        axes.plot(shortest, [median(c) for c in columns], style, color=colour, label=label, lw=1.5)
        return
    for i, (rounds, values) in enumerate(curves):
        axes.plot(rounds, values, style, color=colour, label=None if i else label, lw=1.2)


def draw_nodes(axes: Axes, run: Run, metric: str, marks: Sequence[int]) -> None:
    """A metric of each node over rounds, a colour per kind of data; some rounds marked."""
    palette = {kind: COLOURS[1 + i % 5] for i, kind in enumerate(sorted(set(run.kinds)))}
    seen: set[str] = set()
    rounds = [record["round"] for record in run.records]
    for node, kind in enumerate(run.kinds):
        values = [record[metric][record["nodes"].index(node)] for record in run.records]
        label = None if kind in seen else f"{kind} nodes"
        axes.plot(rounds, values, color=palette[kind], label=label, lw=1.0)
        there = [
            (mark, shape) for mark, shape in zip(marks, "*p", strict=True) if mark <= len(rounds)
        ]
        for mark, shape in there:
            axes.plot([mark], [values[mark - 1]], shape, color=palette[kind], ms=8)
        seen.add(kind)


def panels(rows: int, columns: int, width: float = 3.3, height: float = 2.6) -> tuple[Figure, list]:  # type: ignore[type-arg]
    """A figure, and its axes row by row."""
    figure = Figure(figsize=(width * columns, height * rows), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False)
    for one in axes.flat:
        tidy(one)
    return figure, axes.tolist()


def legend(axes: Axes, size: int = 8, title: str | None = None) -> None:
    """A legend, where there is something to name."""
    if axes.get_legend_handles_labels()[0]:
        axes.legend(frameon=False, fontsize=size, title=title, title_fontsize=size)


def save(figure: Figure, folder: Path, name: str) -> None:
    """The same bytes for the same picture."""
    folder.mkdir(parents=True, exist_ok=True)
    with mpl.rc_context({"svg.hashsalt": "fedadp"}):
        figure.savefig(folder / f"{name}.svg", metadata={"Date": None})
    figure.savefig(folder / f"{name}.png", dpi=110, metadata={"Software": None})
