"""Runs side by side, a process and a core for each: faster than many cores for one run."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from fedadp.drive import Watch
from fedadp.errors import RunError
from fedadp.experiment import Experiment
from fedadp.report.progress import Shows
from fedadp.report.worker import Worker
from fedadp.runs import METRICS, Record, Run, count_rounds, open_run, read_records
from fedadp.stopping import check, keeping

SECONDS_BETWEEN_LOOKS = 0.5


@dataclass
class Job:
    """A process under way, and how much of its metrics was shown."""

    worker: Worker
    tell: Watch
    shown: int = 0

    def look(self) -> None:
        """Show what is new; a file that is being cut back is looked at again later."""
        self.worker.listen()
        with contextlib.suppress(RunError):
            self._show(read_records(self.worker.home / METRICS))

    def _show(self, records: list[Record]) -> None:
        for record in records[self.shown :]:
            self.tell(record)
        self.shown = max(self.shown, len(records))


def run_side_by_side(
    experiments: Sequence[Experiment],
    homes: Sequence[Path],
    restart: bool,
    shows: Shows,
    jobs: int,
) -> list[Run]:
    """Run them all, `jobs` at a time; whoever fails first ends the others."""
    waiting = list(zip(experiments, homes, strict=True))
    under_way: list[Job] = []
    with keeping():
        try:
            while waiting or under_way:
                while waiting and len(under_way) < jobs:
                    experiment, home = waiting.pop(0)
                    old = count_rounds(home) if restart else 0  # about to be dropped
                    worker = Worker(experiment, home, restart)
                    under_way.append(Job(worker, shows.begin(experiment), old))
                time.sleep(SECONDS_BETWEEN_LOOKS)
                check()
                for job in under_way:
                    job.look()
                for job in [job for job in under_way if job.worker.over]:
                    under_way.remove(job)
                    job.look()
                    job.worker.check()
        finally:  # they keep what they have finished
            for job in under_way:
                job.worker.stop()
            for job in under_way:
                job.worker.wait()
    return [open_run(home) for home in homes]
