"""Which folder each run of a command belongs in."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from fedadp.errors import RunError, SettingError
from fedadp.experiment import Experiment, load_cells
from fedadp.runs import count_rounds, is_run, open_run

TOML = "experiment.toml"


class Places:
    """Under `runs/` and the file's name, unless told; a file in a run's folder means that run."""

    def __init__(self, given: Path, out: Path | None) -> None:
        self.file = given / TOML if _is_folder(given) else given
        if _is_folder(given) and not self.file.exists():
            raise RunError(f"{given}: no run is here; give an experiment's file, or a run's folder")
        self.own: Experiment | None = None  # that of the run whose folder the file is in
        self.folder = out or Path("runs") / self.file.stem
        if out is None and self.file.name == TOML and is_run(self.file.parent):
            self.own = open_run(self.file.parent).experiment
            self.folder = self.file.parent.resolve().parent

    def cells(self, changes: Sequence[str]) -> dict[str, list[Experiment]]:
        """The experiments of the file, by cell."""
        return load_cells(self.file, changes)

    def homes(self, cell: str, experiments: Sequence[Experiment]) -> list[Path]:
        """A folder for each; the run that the file is of goes on where it is."""
        return [
            self.file.parent
            if self.own is not None and (_same(one, self.own) or len(experiments) == 1)
            else self.folder / cell / one.slug
            for one in experiments
        ]

    def check(self, homes: Sequence[Path], resume: bool, restart: bool) -> None:
        """Whether there is what was asked for."""
        if resume and restart:
            raise SettingError("--resume", "goes on, and --restart starts over; give one of them")
        if resume and not any(map(count_rounds, homes)):
            more = f", nor in the {len(homes) - 1} others" if len(homes) > 1 else ""
            raise RunError(
                f"{homes[0]}: there is no round to go on from{more}; leave out --resume, or give "
                "the folder with --out"
            )


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except (OSError, ValueError):  # a path that can be none; reading it says why
        return False


def _same(one: Experiment, other: Experiment) -> bool:
    return (one.strategy, one.seed) == (other.strategy, other.seed)
