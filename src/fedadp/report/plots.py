"""Pictures: accuracy over rounds, weights over rounds, and who holds what."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
import numpy as np

mpl.use("Agg")
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, PercentFormatter

from fedadp.errors import RunError
from fedadp.experiment import describe
from fedadp.federation import Federation
from fedadp.runs import Run

COLOURS = ("#7a7a7a", "#0b6e4f", "#c84630", "#3f5fa8", "#b58900", "#7d3c98")
MOST_LINES = 50  # of nodes in one picture


def accuracy_over_rounds(runs: Sequence[Run], target: float | None, path: Path) -> Path:
    """The runs' test accuracy, a colour per strategy, beside the weights of the last one."""
    weighed = runs[-1]
    figure = Figure(figsize=(10, 4), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(3, 2))
    names = list(dict.fromkeys(describe(run.experiment.strategy) for run in runs))
    others = [name for name in names if name != "fedavg"]  # which is grey in every picture
    colours = {name: COLOURS[1 + i % 5] for i, name in enumerate(others)} | {"fedavg": COLOURS[0]}
    drawn = set()
    for run in runs:
        name = describe(run.experiment.strategy)
        rounds, accuracy = run.curve("accuracy")
        colour = colours[name]
        left.plot(rounds, accuracy, color=colour, label=None if name in drawn else name, lw=1.6)
        drawn.add(name)
        hit = None if target is None else run.rounds_to(target)
        if hit is not None:
            left.plot([hit], [accuracy[rounds.index(hit)]], "o", color=colour, ms=6)
            left.annotate(
                str(hit),
                (hit, accuracy[rounds.index(hit)]),
                (0, 7),
                color=colour,
                textcoords="offset points",
                ha="center",
            )
    if target is not None:
        left.axhline(target, color="#bbbbbb", lw=0.8, ls="--", zorder=0)
    left.set(xlabel="round", ylabel="test accuracy")
    left.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    left.legend(frameon=False, loc="lower right")
    left.margins(y=0.08)
    _weights(right, weighed)
    for axes in (left, right):
        tidy(axes)
    return _save(figure, path)


def who_holds_what(federation: Federation, title: str, path: Path) -> Path:
    """Nodes by classes: the larger the dot, the more examples."""
    counts, kinds = federation.counts.numpy(), federation.kinds
    nodes, classes = counts.shape
    figure = Figure(
        figsize=(1.8 + 0.42 * classes, 1.4 + 0.3 * min(nodes, 100)), layout="constrained"
    )
    axes = figure.subplots()
    rows, columns = np.nonzero(counts)
    sizes = counts[rows, columns] / counts.max() * 190
    palette = {kind: COLOURS[1 + i % 5] for i, kind in enumerate(dict.fromkeys(kinds))}
    colours = [palette[kinds[row]] for row in rows]
    axes.scatter(columns, rows, s=sizes, c=colours, linewidths=0)
    axes.set(xlabel="class", ylabel="node", title=title)
    if nodes <= MOST_LINES:
        totals = counts.sum(axis=1)
        axes.set_yticks(range(nodes), [f"{i}  {kinds[i]}  {totals[i]}" for i in range(nodes)])
    axes.set(xlim=(-0.7, classes - 0.3), ylim=(nodes - 0.4, -0.6))
    tidy(axes)
    axes.set_xticks(range(classes))
    return _save(figure, path)


def _weights(axes: Axes, run: Run) -> None:
    """Each node's weight over the rounds, a colour per kind of node."""
    series: dict[int, tuple[list[int], list[float]]] = {}
    for record in run.records:
        for node, weight in zip(record["nodes"], record.get("weight") or [], strict=False):
            rounds, weights = series.setdefault(node, ([], []))
            rounds.append(record["round"])
            weights.append(weight)
    kinds = run.kinds
    palette = {kind: COLOURS[1 + i % 5] for i, kind in enumerate(dict.fromkeys([*kinds, "all"]))}
    drawn = set()
    for node, (rounds, weights) in sorted(series.items())[:MOST_LINES]:
        kind = kinds[node] if node < len(kinds) else "all"
        label = None if kind in drawn else f"{kind} nodes"
        axes.plot(rounds, weights, color=palette[kind], label=label, lw=1.0, alpha=0.8)
        drawn.add(kind)
    axes.set(xlabel="round", ylabel="weight", title=run.experiment.label)
    axes.set_ylim(bottom=0)
    if drawn:
        axes.legend(frameon=False)


def tidy(axes: Axes) -> None:
    axes.spines[["top", "right"]].set_visible(False)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))


def _save(figure: Figure, path: Path) -> Path:
    if path.suffix.lower() != ".png":
        raise RunError(f"{path}: a picture is a PNG; name a file that ends in .png")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, dpi=144, metadata={"Software": None})
    except (OSError, ValueError) as error:
        raise RunError(
            f"{path}: cannot be drawn ({error}); name a .png that can be written"
        ) from error
    return path
