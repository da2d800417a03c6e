"""Processes of ours, told by their mark, and kept alive."""

import logging
import os
import signal
import subprocess
import sys
import time

import pytest

from fedadp.deploy.processes import born, end, mark, marked
from fedadp.deploy.supervisor import Supervisor

SLEEP = [sys.executable, "-c", "import time; time.sleep(600)"]
STUBBORN = [
    sys.executable, "-c",
    "import signal, sys, time; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
    "print('ready', flush=True); time.sleep(600)",
]  # fmt: skip
# a child in a session of its own, left behind by a parent that ends at once
ORPHAN = [
    sys.executable, "-c",
    "import subprocess, sys; subprocess.Popen([sys.executable, '-c', 'import time; "
    "time.sleep(600)'], start_new_session=True, stdout=subprocess.DEVNULL)",
]  # fmt: skip


def begin(place, role, words, **options):
    return subprocess.Popen(words, env={**os.environ, **mark(place, role)}, **options)


def until(holds, seconds=30):
    begin = time.monotonic()
    while not (found := holds()):
        assert time.monotonic() - begin < seconds, "it never came"
        time.sleep(0.02)
    return found


@pytest.fixture
def supervised(tmp_path):
    supervisor = Supervisor(tmp_path, tmp_path, dict(os.environ), pauses=(0.05,))
    yield supervisor
    supervisor.stop()
    assert list(marked(tmp_path)) == []


def pid(supervisor, role="a"):
    child = supervisor.watched[role].child
    return None if child is None else child.pid


def test_ours_are_told_by_deployment_and_role(tmp_path):
    one, two = begin(tmp_path, "a", SLEEP), begin(tmp_path, "b", SLEEP)
    other = begin(tmp_path / "other", "a", SLEEP)
    try:
        until(lambda: set(marked(tmp_path)) == {one.pid, two.pid})
        assert list(marked(tmp_path, "b")) == [two.pid]
        assert end(tmp_path, "a") == 1
        assert (one.wait(), two.poll(), other.poll()) == (-signal.SIGTERM, None, None)
    finally:
        end(tmp_path), end(tmp_path / "other")
        two.wait(), other.wait()


def test_one_that_will_not_end_is_killed(tmp_path):
    child = begin(tmp_path, "a", STUBBORN, stdout=subprocess.PIPE)
    assert child.stdout.readline() == b"ready\n"
    child.stdout.close()
    assert end(tmp_path, patience=0.2) == 1
    assert child.wait() == -signal.SIGKILL


def test_an_orphan_in_a_session_of_its_own_is_found(tmp_path):
    parent = begin(tmp_path, "a", ORPHAN)
    parent.wait()
    (orphan,) = until(lambda: list(marked(tmp_path)))
    assert orphan != parent.pid
    assert end(tmp_path) == 1
    assert born(orphan) is None


def test_a_number_alone_is_no_identity():
    mine = born(os.getpid())
    assert mine is not None
    assert int(mine) > 0
    assert born(2**22 + 1) is None


def test_one_that_is_killed_is_started_again(supervised, caplog):
    supervised.start("a", SLEEP)
    first = pid(supervised)
    os.kill(first, signal.SIGKILL)
    with caplog.at_level(logging.WARNING, "fedadp"):
        second = until(lambda: supervised.tend() or pid(supervised) not in (first, None))
    assert second
    assert supervised.watched["a"].starts == 2
    assert "a was killed by signal 9; starts again in 0.05 s" in caplog.text


def test_what_one_left_behind_is_ended_before_it_starts_again(supervised, tmp_path):
    supervised.start("a", ORPHAN)
    supervised.start("b", SLEEP)
    (first,) = until(lambda: [p for p in marked(tmp_path, "a") if p != pid(supervised)])
    until(lambda: supervised.tend() or supervised.watched["a"].starts == 2)
    assert born(first) is None
    assert supervised.watched["b"].starts == 1


def test_one_that_never_starts_well_is_given_up_with_its_last_words(tmp_path, caplog):
    supervisor = Supervisor(tmp_path, tmp_path, dict(os.environ), patience=0.3, pauses=(0.01,))
    words = [sys.executable, "-c", "print('INFO: x'); print('Exit Code: 302\\nbad key'); exit(1)"]
    with caplog.at_level(logging.ERROR, "fedadp"):
        supervisor.start("a", words)
        until(lambda: supervisor.tend() or supervisor.watched["a"].given_up)
    starts = supervisor.watched["a"].starts
    assert starts > 1
    supervisor.tend()
    assert supervisor.watched["a"].starts == starts
    assert "a ended with 1, and will not be started again; Exit Code: 302 bad key" in caplog.text


def test_stop_ends_children_of_children(tmp_path):
    supervisor = Supervisor(tmp_path, tmp_path, dict(os.environ))
    supervisor.start("a", ORPHAN)
    supervisor.start("b", STUBBORN)
    until(lambda: len(list(marked(tmp_path))) >= 2)
    end(tmp_path, patience=0.1)
    supervisor.stop()
    assert list(marked(tmp_path)) == []
    assert [one.child.returncode is not None for one in supervisor.watched.values()] == [True, True]


def test_one_that_ran_well_for_longer_than_patience_is_started_again(tmp_path):
    supervisor = Supervisor(
        tmp_path, tmp_path, dict(os.environ), settled=0.1, patience=0.3, pauses=(0.01,)
    )
    supervisor.start("a", SLEEP)
    first = pid(supervisor)
    time.sleep(0.6)
    os.kill(first, signal.SIGKILL)

    def again():
        supervisor.tend()
        return pid(supervisor) not in (None, first)

    until(again)
    assert not supervisor.watched["a"].given_up
    supervisor.stop()
    assert list(marked(tmp_path)) == []
