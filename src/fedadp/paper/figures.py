"""The paper's figures, in its layout."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from matplotlib.ticker import PercentFormatter

from fedadp.paper.drawing import STRATEGY_COLOURS, draw, draw_nodes, legend, panels, save
from fedadp.paper.published import MIXES
from fedadp.paper.results import ByCell
from fedadp.report.plots import COLOURS

NAMES = {"mnist": "MNIST", "fashion": "Fashion-MNIST"}
STYLES = {"1": "-", "2": "--"}


def fig1(found: ByCell, folder: Path) -> None:
    figure, [[axes]] = panels(1, 1, 5.5, 3.6)
    for i, (cell, strategies) in enumerate(found.items()):
        draw(axes, strategies["fedavg"], "accuracy", COLOURS[i % 6], _mix(cell))
    axes.set(xlabel="round", ylabel="test accuracy", title="FedAvg, MNIST", ylim=(0.4, 1))
    legend(axes)
    axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    save(figure, folder, "fig1")


def fig2(found: ByCell, folder: Path) -> None:
    strategies = found["mnist-mixed"]
    figure, [row] = panels(1, len(strategies), 4.4, 3.4)
    for axes, (strategy, runs) in zip(row, strategies.items(), strict=True):
        draw_nodes(axes, runs[min(runs)], "smoothed_angle", marks=(1, 15))
        axes.set(xlabel="round", title=strategy, ylim=(0.5, 1.6))
    row[0].set_ylabel("smoothed angle (rad)")
    legend(row[-1], title="star: round 1, pentagon: round 15")
    save(figure, folder, "fig2")


def fig3(found: ByCell, folder: Path) -> None:
    _grid(found, folder, "fig3")


def fig4(found: ByCell, folder: Path) -> None:
    _grid(found, folder, "fig4")


def _grid(found: ByCell, folder: Path, name: str) -> None:
    """Data sets by mixes; a colour per strategy, dashes for two classes a node."""
    figure, rows = panels(2, 3)
    for row, data in zip(rows, NAMES, strict=True):
        for axes, mix in zip(row, MIXES, strict=True):
            for classes, style in STYLES.items():
                for strategy, runs in found.get(f"{data}-{mix}-{classes}", {}).items():
                    label = f"{strategy} ({classes})"
                    draw(axes, runs, "accuracy", STRATEGY_COLOURS[strategy], label, style)
            axes.set(title=f"{NAMES[data]}, {_mix(f'{data}-{mix}')}", xlabel="round")
            axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
            axes.set_ylim(0.4, 1.0 if data == "mnist" else 0.85)
            legend(axes, 7)
        row[0].set_ylabel("test accuracy")
    save(figure, folder, name)


def fig5(found: ByCell, folder: Path) -> None:
    figure, [[axes]] = panels(1, 1, 5.5, 3.6)
    (strategies,) = found.values()
    for i, runs in enumerate(strategies.values()):
        alpha = next(iter(runs.values())).experiment.table()["strategy"]["alpha"]
        draw(axes, runs, "accuracy", COLOURS[i % 6], rf"$\alpha$ = {alpha:g}")
    axes.set(xlabel="round", ylabel="test accuracy", ylim=(0.6, 1))
    axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    legend(axes)
    save(figure, folder, "fig5")


def fig6(found: ByCell, folder: Path) -> None:
    (strategies,) = found.values()
    figure, rows = panels(2, 1, 5.5, 2.6)
    for (axes,), metric, title in zip(
        rows, ("training_loss", "divergence"), ("training loss", "divergence"), strict=True
    ):
        for strategy, runs in strategies.items():
            draw(axes, runs, metric, STRATEGY_COLOURS[strategy], strategy)
        axes.set(xlabel="round", ylabel=title)
        legend(axes)
    save(figure, folder, "fig6")


def fig7(found: ByCell, folder: Path) -> None:
    figure, rows = panels(2, len(found))
    for column, (cell, strategies) in enumerate(found.items()):
        for row, metric in zip(rows, ("accuracy", "training_loss"), strict=True):
            for strategy, runs in strategies.items():
                draw(row[column], runs, metric, STRATEGY_COLOURS[strategy], strategy)
        rows[0][column].set(title=cell.removeprefix("mnist-").replace("case", "Case "))
        rows[0][column].yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
        rows[1][column].set(xlabel="round")
        legend(rows[0][column])
    rows[0][0].set_ylabel("test accuracy")
    rows[1][0].set_ylabel("training loss")
    save(figure, folder, "fig7")


FIGURES: Mapping[str, Callable[[ByCell, Path], None]] = {
    "fig1": fig1,
    "fig2": fig2,
    "fig3": fig3,
    "fig4": fig4,
    "fig5": fig5,
    "fig6": fig6,
    "fig7": fig7,
}


def _mix(cell: str) -> str:
    """A cell's name, as the paper has it: 5 IID + 5 non-IID (1)."""
    _, mix, *classes = cell.split("-")
    iid, skewed = mix.split("+")
    if skewed == "0":
        return f"{iid} IID"
    return f"{iid} IID + {skewed} non-IID" + (f" ({classes[0]})" if classes else "")
