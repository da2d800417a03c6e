"""Progress on long work: where it stands, how long it will take, how the weights shift."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Protocol

from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from fedadp.console import Console
from fedadp.experiment import Experiment
from fedadp.runs import Record

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


@contextmanager
def logged(console: Console, quiet: bool) -> Iterator[None]:
    """Inside, what is logged is shown as lines above the bars."""
    lines, before = _Lines(console), log.level
    log.addHandler(lines)
    log.setLevel(logging.WARNING if quiet else logging.INFO)
    try:
        yield
    finally:
        log.removeHandler(lines)
        log.setLevel(before)


class Shows(Protocol):
    """What can show run after run."""

    def begin(self, experiment: Experiment) -> Callable[[Record], None]: ...


class Watcher:
    """Shows one run after another, as bars on a terminal and as lines elsewhere."""

    def __init__(self, console: Console, quiet: bool = False) -> None:
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
        self._console, self._quiet, self._shown = console, quiet, ExitStack()

    def __enter__(self) -> Watcher:
        self._shown.enter_context(logged(self._console, self._quiet))
        self._shown.enter_context(self._bars)
        return self

    def __exit__(self, *_: object) -> None:
        self._shown.close()

    def begin(self, experiment: Experiment) -> Callable[[Record], None]:
        """One more run; what comes back wants to be told of its rounds."""
        task = self._bars.add_task(experiment.label, total=experiment.rounds, line="")
        began = said = time.monotonic()
        first: int | None = None

        def tell(record: Record) -> None:
            nonlocal first, said, began
            accuracy, number = record.get("accuracy"), record["round"]
            told = "" if accuracy is None else f"accuracy {accuracy:6.2%}  "
            line = told + spark(record.get("weight") or [])
            now = time.monotonic()
            if first is None:  # what was done before says nothing of the pace
                first, began = number, now
                self._bars.reset(task, completed=number - 1)
            self._bars.update(task, completed=number, line=line)
            if not self._live and now - said > SECONDS_BETWEEN_LINES:
                said = now
                left = (now - began) / max(1, number - first) * (experiment.rounds - number)
                log.info(
                    f"{experiment.label}: round {number}/{experiment.rounds}, {line}, "
                    f"at most {left / 60:.1f} min left"
                )
            for node, why in record.get("refused", {}).items():
                log.warning(f"{experiment.label}: round {number}, node {node} left out, for {why}")

        return tell
