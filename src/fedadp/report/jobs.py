"""Runs side by side, a process and a core for each: faster than many cores for one run."""

from __future__ import annotations

import contextlib
import logging
import multiprocessing
import os
import signal
import time
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from pathlib import Path

from fedadp.drive import Watch, run
from fedadp.errors import FedadpError, RunError
from fedadp.experiment import Experiment
from fedadp.parallel import most
from fedadp.report.progress import Shows
from fedadp.runs import Record, Run, open_run, read_records

SECONDS_BETWEEN_LOOKS = 0.5
log = logging.getLogger("fedadp")


@dataclass
class Job:
    """A process under way, and how much of its metrics was shown."""

    experiment: Experiment
    home: Path
    process: BaseProcess
    tell: Watch
    shown: int = 0

    def look(self) -> None:
        """Show what is new; a file that is being cut back is looked at again later."""
        with contextlib.suppress(RunError):
            self._show(read_records(self.home / "metrics.jsonl"))

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
    spawn = multiprocessing.get_context("spawn")
    waiting = list(zip(experiments, homes, strict=True))
    under_way: list[Job] = []
    try:
        while waiting or under_way:
            while waiting and len(under_way) < jobs:
                experiment, home = waiting.pop(0)
                process = spawn.Process(target=_one, args=(experiment, home, restart))
                process.start()
                under_way.append(Job(experiment, home, process, shows.begin(experiment)))
            time.sleep(SECONDS_BETWEEN_LOOKS)
            for job in under_way:
                job.look()
            for job in [job for job in under_way if job.process.exitcode is not None]:
                under_way.remove(job)
                if job.process.exitcode != 0:
                    raise RunError(f"{job.home}: {job.experiment.label} failed, as it said above")
                job.look()
    finally:  # they keep what they have finished
        for job in under_way:
            with contextlib.suppress(ProcessLookupError):
                os.kill(job.process.pid or 0, signal.SIGINT)
        for job in under_way:
            job.process.join()
    return [open_run(home) for home in homes]


def _one(experiment: Experiment, home: Path, restart: bool) -> None:
    """What a process does: one run, on one core."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    most[0] = 1
    try:
        run(experiment, home, restart=restart)
    except FedadpError as error:
        log.error("%s: %s", experiment.label, error)
        raise SystemExit(2) from None
    except KeyboardInterrupt:
        raise SystemExit(130) from None
