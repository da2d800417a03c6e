"""A run in a process of its own, on one core; what it says comes back to whoever started it."""

from __future__ import annotations

import contextlib
import logging
import multiprocessing
import os
import signal
import threading
from multiprocessing import connection, resource_tracker
from multiprocessing.connection import Connection
from pathlib import Path

from fedadp import stopping
from fedadp.drive import run
from fedadp.errors import FedadpError, RunError, own_mistake
from fedadp.experiment import Experiment
from fedadp.parallel import most

log = logging.getLogger("fedadp")
ERROR = -1  # the level of a sentence that ends a run; then comes the exit code


class Worker:
    """One run, in its process."""

    def __init__(self, experiment: Experiment, home: Path, restart: bool) -> None:
        spawn = multiprocessing.get_context("spawn")
        self.experiment, self.home = experiment, home
        self._heard, said = spawn.Pipe(duplex=False)
        self._process = spawn.Process(target=_work, args=(experiment, home, restart, said))
        self._error: RunError | None = None
        # the process begins with signals held back: it imports in peace, and Ctrl-C is ours to tell
        resource_tracker.ensure_running()
        before = signal.pthread_sigmask(signal.SIG_BLOCK, stopping.SIGNALS)
        try:
            self._process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        said.close()

    @property
    def over(self) -> bool:
        return self._process.exitcode is not None

    def listen(self) -> None:
        """Say what it said."""
        with contextlib.suppress(EOFError):
            while self._heard.poll():
                level, sentence, code = self._heard.recv()
                if level == ERROR:
                    self._error = RunError(f"{self.experiment.label}: {sentence}")
                    self._error.exit_code = code
                else:
                    log.log(level, "%s", sentence)

    def check(self) -> None:
        """Raise what ended it, if that was not the end of its run."""
        if self._error is not None:
            raise self._error
        code = self._process.exitcode or 0
        if code:
            why = f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with {code}"
            raise RunError(
                f"{self.experiment.label}: its process {why}, perhaps for want of memory; finished "
                "rounds are kept, and the same command goes on there"
            )

    def stop(self) -> None:
        if self._process.pid is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._process.pid, signal.SIGTERM)

    def wait(self) -> None:
        while not self.over:
            self.listen()
            self._process.join(0.1)


class _Back(logging.Handler):
    """What is logged goes to whoever started us."""

    def __init__(self, said: Connection) -> None:
        super().__init__()
        self._said = said

    def emit(self, record: logging.LogRecord) -> None:
        with contextlib.suppress(OSError):
            self._said.send((record.levelno, record.getMessage(), 0))


def _work(experiment: Experiment, home: Path, restart: bool, said: Connection) -> None:
    """What the process does."""
    with stopping.keeping():
        for number in stopping.SIGNALS:  # a terminal tells all processes, but only one decides
            signal.signal(number, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        stopping.install()
        signal.pthread_sigmask(signal.SIG_UNBLOCK, stopping.SIGNALS)
        threading.Thread(target=_mind_parent, daemon=True).start()
        log.addHandler(_Back(said))
        log.setLevel(logging.INFO)
        most[0] = 1
        try:
            run(experiment, home, restart=restart)
        except KeyboardInterrupt:
            raise SystemExit(stopping.exit_code(signal.SIGTERM)) from None
        except FedadpError as error:
            _give_up(said, str(error), error.exit_code)
        except Exception as error:  # noqa: BLE001  told where it can be read
            _give_up(said, own_mistake(error), 1)


def _give_up(said: Connection, sentence: str, code: int) -> None:
    with contextlib.suppress(OSError):
        said.send((ERROR, sentence, code))
    raise SystemExit(code) from None


def _mind_parent() -> None:
    """Nobody is left behind: when whoever started us is gone, the run is kept and ended."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        os.kill(os.getpid(), signal.SIGTERM)
