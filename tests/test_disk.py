"""What a disk does to a run: it fills up, cannot be written, or goes away."""

import os
import resource
import shutil
import subprocess
from contextlib import contextmanager

import pytest

import fedadp
from fedadp import Experiment, FedAdp, Model, Momentum, data
from fedadp.errors import RunError
from fedadp.lock import Lock

KEPT = ("metrics.jsonl", "checkpoint.safetensors", "experiment.toml")


def small(**changes):
    settings = {
        "data": data.Synthetic(examples=120, test=30, classes=3, shape=(40,)),
        "partition": data.Iid(nodes=3),
        "model": Model("mlr"),
        "strategy": Momentum(FedAdp()),
        "rounds": 12,
    }
    return Experiment(**{**settings, **changes})


def same_as_never_troubled(folder, experiment):
    fedadp.run(experiment, folder.with_name("whole"))
    for name in KEPT:
        assert (folder / name).read_bytes() == (folder.with_name("whole") / name).read_bytes()


@contextmanager
def files_of_at_most(size):
    """As a quota has it; the kernel then cuts a write off halfway."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def mounted(kind, folder, options):
    if os.geteuid() != 0:
        return False
    words = ["mount", "-t", kind, "-o", options, kind, str(folder)]
    return subprocess.run(words, capture_output=True, check=False).returncode == 0


@pytest.fixture
def small_disk(tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    if not mounted("tmpfs", disk, "size=64k"):
        pytest.skip("NOT TESTED on a real small disk: only root may mount one")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


@pytest.mark.parametrize("size", [600, 2500, 3000])
def test_a_file_that_may_not_grow_stops_the_run_and_costs_nothing(tmp_path, size, monkeypatch):
    monkeypatch.setattr("fedadp.keeper.SECONDS_BETWEEN_CHECKPOINTS", -1.0)
    folder = tmp_path / "run"
    with (
        files_of_at_most(size),
        pytest.raises(RunError, match=r"run: cannot be written \(File too large\); what was kept"),
    ):
        fedadp.run(small(), folder)
    assert not list(folder.glob(".*.new"))
    fedadp.run(small(), folder)
    same_as_never_troubled(folder, small())


def test_a_full_disk_stops_the_run_and_costs_nothing(small_disk, tmp_path, monkeypatch):
    monkeypatch.setattr("fedadp.keeper.SECONDS_BETWEEN_CHECKPOINTS", -1.0)
    folder, longer = small_disk / "run", small(rounds=150)
    with pytest.raises(RunError, match=r"cannot be written \(No space left"):
        fedadp.run(longer, folder)
    kept = fedadp.open_run(folder)
    with pytest.raises(RunError, match=r"cannot be written \(No space left"):
        fedadp.run(longer, folder)  # as often as one likes
    assert fedadp.open_run(folder).rounds >= kept.rounds - 1
    moved = shutil.copytree(folder, tmp_path / "elsewhere" / "run")
    fedadp.run(longer, moved)
    same_as_never_troubled(moved, longer)


def test_a_folder_that_cannot_be_written_is_left_as_it_is(tmp_path):
    folder = tmp_path / "run"
    fedadp.run(small(rounds=2), folder)
    before = {file.name: file.read_bytes() for file in folder.iterdir()}
    if os.geteuid() != 0:
        folder.chmod(0o555)
    elif not mounted("tmpfs", tmp_path, "ro"):
        pytest.skip("NOT TESTED with a read-only folder: root may write to all, and not mount one")
    try:
        with pytest.raises(RunError, match=r"cannot be written \((Read-only|Permission)"):
            fedadp.run(small(), folder)
    finally:
        if os.geteuid() == 0:
            subprocess.run(["umount", str(tmp_path)], check=True)
        folder.chmod(0o755)
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == before


@pytest.mark.parametrize("put_back", [False, True])
def test_a_folder_that_is_taken_away_stops_the_run(tmp_path, put_back):
    folder, beside = tmp_path / "run", tmp_path / "beside"

    def take_away(record):
        if record["round"] == 2:
            folder.rename(beside)
            if put_back:  # and somebody else's is there
                shutil.copytree(beside, folder)

    with pytest.raises(RunError, match="run: was taken away while a run was written to it"):
        fedadp.run(small(), folder, watch=take_away)
    assert folder.exists() == put_back
    fedadp.run(small(), beside)
    assert fedadp.open_run(beside).rounds == 12


def test_a_folder_at_work_says_whose_it_is(tmp_path):
    folder = tmp_path / "run"
    folder.mkdir()
    with (
        Lock(folder).held(),
        pytest.raises(RunError, match=f"run: process {os.getpid()} is at work here"),
    ):
        fedadp.run(small(), folder)
    assert fedadp.run(small(), folder).rounds == 12


def test_what_a_dead_process_left_unfinished_is_swept_away(tmp_path):
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / ".experiment.toml.123.new").write_text("half")
    fedadp.run(small(), folder)
    assert not list(folder.glob(".*.new"))
