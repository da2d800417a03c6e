"""The parts of the paper, the runs that each one needs, and where they are kept."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from fedadp.errors import RunError, SettingError, nearest
from fedadp.experiment import Experiment, load_cells
from fedadp.models import Model
from fedadp.runs import Run, open_run

TITLES = {
    "table1": "Table 1: rounds to the target",
    "fig1": "Figure 1: FedAvg on skewed nodes",
    "fig2": "Figure 2: the smoothed angle of each node",
    "fig3": "Figure 3: multinomial logistic regression",
    "fig4": "Figure 4: the accuracy curves of Table 1",
    "fig5": "Figure 5: what alpha does",
    "fig6": "Figure 6: training loss and divergence",
    "fig7": "Figure 7: nodes of every degree of skew",
    "readings": "The readings of the paper",
    "theory": "Theorems 1 and 2, checked",
}
SOURCE = {"fig4": "table1"}  # drawn from the runs of another part
PARTS_WITH_FILES = tuple(part for part in TITLES if part not in SOURCE)
CNNS = ("cnn", "cnn-valid")


@dataclass(frozen=True)
class Planned:
    """A run that a part needs, and the folder it belongs in."""

    part: str
    cell: str
    experiment: Experiment
    home: Path

    @property
    def label(self) -> str:
        return f"{self.experiment.model.name} {self.cell}, {self.experiment.label}"

    def found(self) -> Run | None:
        """What is there of it."""
        if not (self.home / "experiment.toml").exists():
            return None
        run = open_run(self.home)
        return run if run.records else None

    def finished(self) -> Run | None:
        """The run, once it has come to its end."""
        run = self.found()
        ended = run is not None and any(map(self.experiment.ends_with, run.records))
        return run if ended else None


def plan(
    folder: Path,
    parts: Iterable[str],
    *,
    cnn: str | None = None,
    seeds: int | None = None,
    cells: Sequence[str] | None = None,
) -> list[Planned]:
    """All runs that these parts need; two parts may share one."""
    known: set[str] = set()
    planned: dict[tuple[str, Path], Planned] = {}
    for part in parts:
        name = SOURCE.get(part, part)
        file = folder / f"{name}.toml"
        if not file.exists():
            raise RunError(
                f"{file}: there is no such file; run this in a checkout of the project, or say "
                "where its paper folder is with --folder"
            )
        found = load_cells(file)
        known |= found.keys()
        for cell, experiments in found.items():
            if cells is not None and cell not in cells:
                continue
            for experiment in _seeded(_read_as(experiments, cnn), seeds):
                home = folder / "results" / experiment.model.name / cell / experiment.slug
                planned[part, home] = Planned(part, cell, experiment, home)
    for cell in cells or ():
        if cell not in known:
            raise SettingError("--cell", f"no cell {cell!r} here{nearest(cell, known)}")
    return list(planned.values())


def once(planned: Sequence[Planned]) -> list[Planned]:
    """Each run once, where parts share it."""
    return list({one.home: one for one in planned}.values())


def _read_as(experiments: Sequence[Experiment], cnn: str | None) -> list[Experiment]:
    """The experiments with the CNN in another reading."""
    return [
        replace(one, model=Model(cnn)) if cnn and one.model.name in CNNS else one
        for one in experiments
    ]


def _seeded(experiments: Sequence[Experiment], seeds: int | None) -> list[Experiment]:
    """The experiments with as many seeds as were asked for, seed by seed."""
    if seeds is None:
        return list(experiments)
    first = experiments[0].seed
    of_one = [one for one in experiments if one.seed == first]
    return [replace(one, seed=seed) for seed in range(seeds) for one in of_one]
