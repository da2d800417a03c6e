"""Processes forked for one run each: they begin at once, for all is imported already."""

import os
import signal
import sys
import time
import traceback
from pathlib import Path

import torch

import fedadp
from fedadp import keeper, parallel, stopping
from fedadp.core import Examples, Instructions
from fedadp.engines.softmax import can_descend, descend
from fedadp.kernels import sums, weigh

from .deaths import Steps


def fork(work, log):
    """A child that does the work; what it says goes to the log."""
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(out, 1)
        os.dup2(out, 2)
        parallel._pool.cache_clear()  # a fork keeps no threads
        code = work() or 0
    except SystemExit as ended:
        code = ended.code or 0
    except BaseException:  # noqa: BLE001  there is nobody above
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def wait(pid, kill_after=None, number=signal.SIGKILL):
    """The child's exit code; negative if a signal ended it."""
    begin, sent = time.monotonic(), False
    while True:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        gone = time.monotonic() - begin
        if kill_after is not None and gone > kill_after and not sent:
            os.kill(pid, number)
            sent = True
        if gone > 120:
            os.kill(pid, signal.SIGKILL)
            raise AssertionError("a child did not end within two minutes")
        time.sleep(0.001)


def run(experiment, folder, steps=None, every=-1.0):
    """What a child does: one run, in Python."""

    def work():
        keeper.SECONDS_BETWEEN_CHECKPOINTS = every
        if steps is not None:
            steps.install()
        fedadp.run(experiment, folder)
        if steps is not None:
            Path(f"{folder}.steps").write_text(str(steps.count))

    return work


def command(words, every=-1.0):
    """What a child does: a command line, with all that belongs to it."""

    def work():
        keeper.SECONDS_BETWEEN_CHECKPOINTS = every
        sys.argv = ["fedadp", *map(str, words)]
        stopping.install()
        from fedadp.cli import app

        app()

    return work


def count_steps(experiment, folder, log):
    """Into how many steps a run falls that nobody kills."""
    code = wait(fork(run(experiment, folder, Steps(folder)), log))
    assert code == 0, Path(log).read_text()
    return int(Path(f"{folder}.steps").read_text())


def warm_up():
    """Load what every run needs, in one thread, so that no child has to."""
    torch.set_num_threads(1)
    rows, weights = torch.ones(4, 8), torch.full((4,), 0.25, dtype=torch.float64)
    sums(rows, weights)
    weigh(rows, weights, torch.empty(8))
    examples, order = Examples(torch.ones(4, 3), torch.zeros(4).long()), torch.arange(4)[None]
    if can_descend(examples, Instructions(round=1), torch.ones(8), 2, order):
        descend(torch.ones(1, 8), torch.ones(8), examples, order, [4], Instructions(round=1))
