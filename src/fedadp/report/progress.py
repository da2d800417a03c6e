"""Progress on long work: where it stands, how long it will take, how the weights shift."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from types import TracebackType
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from fedadp.experiment import Experiment

log = logging.getLogger("fedadp")
BLOCKS = "▁▂▃▄▅▆▇█"
MOST_NODES = 30  # that fit on a line
SECONDS_BETWEEN_LINES = 10.0  # where there is no terminal to redraw


def spark(weights: Sequence[float]) -> str:
    """One block per node, as high as its weight.

    >>> spark([0.0, 0.1, 0.4])
    '▁▂█'
    """
    top = max(weights, default=0.0) or 1.0
    blocks = [BLOCKS[min(7, int(weight / top * 7.999))] for weight in weights[:MOST_NODES]]
    return "".join(blocks) + ("…" if len(weights) > MOST_NODES else "")


class _Lines(logging.Handler):
    """What is logged, as lines above the bars."""

    def __init__(self, console: Console) -> None:
        super().__init__()
        self._console = console

    def emit(self, record: logging.LogRecord) -> None:
        self._console.print(record.getMessage(), highlight=False, markup=False, soft_wrap=True)


class Watcher:
    """Shows one run after another, as bars on a terminal and as lines elsewhere."""

    def __init__(self, console: Console, quiet: bool = False) -> None:
        self._console, self._quiet = console, quiet
        self._live = console.is_terminal and not quiet
        self._bars = Progress(
            TextColumn("[bold]{task.description}"),
            BarColumn(20),
            TextColumn("round {task.completed}/{task.total}"),
            TimeRemainingColumn(),
            TextColumn("{task.fields[line]}"),
            console=console,
            disable=not self._live,
        )
        self._lines = _Lines(console)
        self._before = logging.NOTSET
        self._task = TaskID(0)
        self._experiment: Experiment | None = None
        self._said = self._begun = 0.0
        self._first: int | None = None

    def __enter__(self) -> Watcher:
        self._before = log.level
        log.addHandler(self._lines)
        log.setLevel(logging.WARNING if self._quiet else logging.INFO)
        self._bars.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._bars.stop()
        log.removeHandler(self._lines)
        log.setLevel(self._before)

    def begin(self, experiment: Experiment) -> None:
        self._experiment, self._first = experiment, None
        self._said = self._begun = time.monotonic()
        self._task = self._bars.add_task(experiment.label, total=experiment.rounds, line="")

    def __call__(self, record: dict[str, Any]) -> None:
        """One more round."""
        accuracy = record.get("accuracy")
        told = "" if accuracy is None else f"accuracy {accuracy:6.2%}  "
        line = told + spark(record.get("weight") or [])
        self._bars.update(self._task, completed=record["round"], line=line)
        now = time.monotonic()
        self._first = record["round"] if self._first is None else self._first
        if not self._live and now - self._said > SECONDS_BETWEEN_LINES and self._experiment:
            self._said = now
            total = self._experiment.rounds
            done = max(1, record["round"] - self._first)
            left = (now - self._begun) / done * (total - record["round"])
            log.info(
                f"{self._experiment.label}: round {record['round']}/{total}, {line}, "
                f"at most {left / 60:.1f} min left"
            )
        for node, why in record.get("refused", {}).items():
            log.warning(f"round {record['round']}: node {node} was left out, for {why}")
