"""Commands that are stopped, or whose output goes away: one sentence, and an exit code."""

import os
import pty
import signal
import subprocess
import sys
import time

import pytest

from fedadp import open_run
from fedadp.checkpoint import read_head
from fedadp.errors import RunError
from fedadp.lock import Lock
from fedadp.runs import count_rounds

ENDLESS = """
rounds = 1000000
model = "mlr"
data = {name = "synthetic", examples = 60, test = 20, classes = 3, shape = [4]}
partition = {name = "iid", nodes = 3}
"""
FEDADP = [sys.executable, "-m", "fedadp"]


def start(*words, **options):
    return subprocess.Popen(
        [*FEDADP, *map(str, words)], stderr=subprocess.PIPE, text=True, **options
    )


@pytest.fixture
def endless(tmp_path):
    """The words for a run without end, and its folder."""
    (tmp_path / "endless.toml").write_text(ENDLESS)
    return ["run", tmp_path / "endless.toml", "--out", tmp_path], tmp_path / "fedadp-seed-0"


def wait_for_rounds(folder, process):
    deadline = time.monotonic() + 300
    while not count_rounds(folder) and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.05)
    assert count_rounds(folder), "no round was finished, on a machine that has much else to do"


def ended(process, code, *parts):
    _, said = process.communicate(timeout=300)
    assert process.returncode == code, said
    last = said.strip().splitlines()[-1]
    assert last.startswith("fedadp: "), said
    for part in parts:
        assert part in last
    assert said.count("fedadp: ") == 1, said
    assert "Traceback" not in said
    return said


def test_a_signal_keeps_the_run_and_has_its_exit_code(endless):
    words, folder = endless
    process = start(*words, "--quiet")
    wait_for_rounds(folder, process)
    process.send_signal(signal.SIGTERM)
    ended(process, 143, "SIGTERM", "goes on there")
    assert (folder / "checkpoint.safetensors").exists()
    assert open_run(folder).rounds >= 1


def test_a_signal_while_it_imports_is_one_sentence():
    for number, after in ((signal.SIGINT, 0.3), (signal.SIGTERM, 0.6)):
        process = start("list", stdout=subprocess.PIPE)
        time.sleep(after)
        process.send_signal(number)
        _, said = process.communicate(timeout=300)
        assert process.returncode in (0, -number, 128 + number), said  # too late, too early, or not
        assert "Traceback" not in said or process.returncode == -number  # Python itself had begun


def test_a_hang_up_that_is_to_be_ignored_is_ignored(endless):
    words, folder = endless
    process = start(
        *words, "--quiet", preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)
    )
    wait_for_rounds(folder, process)
    process.send_signal(signal.SIGHUP)
    seen = count_rounds(folder)
    deadline = time.monotonic() + 300
    while count_rounds(folder) < seen + 2 and time.monotonic() < deadline:
        time.sleep(0.05)
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    ended(process, 130, "stopped;")


def test_a_terminal_that_is_closed_keeps_the_run(endless):
    words, folder = endless
    pid, terminal = pty.fork()
    if pid == 0:
        os.execv(sys.executable, [*FEDADP, *map(str, words)])
    deadline = time.monotonic() + 300
    while not count_rounds(folder) and time.monotonic() < deadline:
        os.read(terminal, 4096)
    os.close(terminal)
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 129
    assert (folder / "checkpoint.safetensors").exists()


def test_whoever_is_left_behind_by_a_kill_ends_too(endless):
    words, folder = endless
    process = start(*words, "--quiet", "--jobs", "2", "--set", "seed=[0,1]")
    wait_for_rounds(folder, process)
    process.kill()
    process.communicate(timeout=300)
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline:
        try:
            with Lock(folder).held():
                break
        except RunError as error:  # not for long
            assert f"{folder}: process " in str(error)  # noqa: PT017  whose it is
            time.sleep(0.05)
    seen = count_rounds(folder)
    assert seen == load_checkpoint(folder)


def load_checkpoint(folder):
    return read_head(folder / "checkpoint.safetensors")["number"]


@pytest.mark.parametrize("words", [["list", "--json"], ["run", "--help"]])
def test_an_output_that_nobody_reads_is_one_sentence(words):
    reads, writes = os.pipe()
    os.close(reads)
    process = start(*words, stdout=writes)
    os.close(writes)
    ended(process, 141, "Broken pipe")


def test_a_result_that_nobody_reads_is_kept(endless):
    words, folder = endless
    reads, writes = os.pipe()
    os.close(reads)
    process = start(*words, "--quiet", "--set", "rounds=2", stdout=writes)
    os.close(writes)
    ended(process, 141, "Broken pipe", "is kept")
    assert open_run(folder).rounds == 2
    assert (folder / "accuracy.png").exists()


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="only Linux has a full device")  # noqa: PTH110
def test_an_output_that_is_full_is_one_sentence():
    with open("/dev/full", "w") as full:  # noqa: PTH123
        ended(start("list", stdout=full), 2, "No space left")
