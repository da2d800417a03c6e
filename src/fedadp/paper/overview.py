"""One view over many runs: how many are done, which are under way, and the time left."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from contextlib import ExitStack

from rich.progress import BarColumn, Progress, TextColumn

from fedadp.console import Console
from fedadp.drive import Watch
from fedadp.experiment import Experiment
from fedadp.paper.parts import Planned
from fedadp.report.progress import logged
from fedadp.runs import Record

log = logging.getLogger("fedadp")
SECONDS_BETWEEN_LINES = 60.0  # where there is no terminal to redraw
SECONDS_OF_REPLAY = 2.0  # rounds told so soon were done before


class Overview:
    """Shows all runs at once."""

    def __init__(self, planned: Sequence[Planned], console: Console, quiet: bool) -> None:
        self._labels = {id(one.experiment): one.label for one in planned}
        self._runs, self._ended = len(planned), 0
        self._most = sum(one.experiment.rounds for one in planned)
        self._done = self._new = 0
        self._began = self._said = time.monotonic()
        self._live = console.is_terminal and not quiet
        self._console, self._quiet, self._shown = console, quiet, ExitStack()
        self._bars = Progress(
            TextColumn("{task.description}"),
            BarColumn(20),
            TextColumn("{task.fields[line]}"),
            console=console,
            disable=not self._live,
        )
        self._all = self._bars.add_task("[bold]all runs", total=self._most, line="")

    def __enter__(self) -> Overview:
        self._shown.enter_context(logged(self._console, self._quiet))
        self._shown.enter_context(self._bars)
        return self

    def __exit__(self, *_: object) -> None:
        self._shown.close()

    def begin(self, experiment: Experiment) -> Watch:
        """One more run; what comes back wants to be told of its rounds."""
        label = self._labels.get(id(experiment), experiment.label)
        task = self._bars.add_task(label, total=experiment.rounds, line="")
        began = time.monotonic()

        def tell(record: Record) -> None:
            number, accuracy = record["round"], record.get("accuracy")
            self._done += 1
            self._new += time.monotonic() - began > SECONDS_OF_REPLAY
            told = "" if accuracy is None else f", accuracy {accuracy:.2%}"
            line = f"round {number}/{experiment.rounds}{told}"
            self._bars.update(task, completed=number, line=line)
            if experiment.ends_with(record):
                self._ended += 1
                self._most -= experiment.rounds - number
                self._bars.remove_task(task)
            self._tell_all(f"{label}: {line}")

        return tell

    def _tell_all(self, last: str) -> None:
        line = f"{self._ended} of {self._runs} runs done{self._left()}"
        self._bars.update(self._all, completed=self._done, total=self._most, line=line)
        if not self._live and time.monotonic() - self._said > SECONDS_BETWEEN_LINES:
            self._said = time.monotonic()
            log.info(f"{last}; {line}")

    def _left(self) -> str:
        if not self._new:
            return ""
        pace = self._new / (time.monotonic() - self._began)
        hours = (self._most - self._done) / pace / 3600
        left = f"{hours:.1f} h" if hours >= 1 else f"{hours * 60:.0f} min"
        return f", at most {left} left"
