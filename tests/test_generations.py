"""Two checkpoints are kept, and a damaged one costs what came after the one before."""

import json
from dataclasses import dataclass, replace

import pytest
import torch

import fedadp
from fedadp import Experiment, FedAdp, Model, Momentum, Training, Weighed, Weighting, data
from fedadp.checkpoint import generations, load_round, read_head, save_round
from fedadp.errors import DataError, RunError
from fedadp.loop import Round

SMALL = Experiment(
    data=data.Synthetic(examples=120, test=30, classes=3),
    partition=data.Iid(nodes=3),
    model=Model("mlr"),
    strategy=Momentum(FedAdp()),
    rounds=6,
)


@pytest.fixture
def begun(tmp_path, monkeypatch):
    """A run of four rounds, and its newest checkpoint and the one before."""
    monkeypatch.setattr("fedadp.keeper.SECONDS_BETWEEN_CHECKPOINTS", -1.0)
    fedadp.run(replace(SMALL, rounds=4), tmp_path / "run")
    files = generations(tmp_path / "run" / "checkpoint.safetensors")
    assert [read_head(file)["number"] for file in files] == [4, 3]
    return tmp_path / "run", *files


def flipped(raw):
    middle = len(raw) // 2
    return raw[:middle] + bytes([raw[middle] ^ 16]) + raw[middle + 1 :]


def sums(folder):
    return [(folder / name).read_bytes() for name in ("metrics.jsonl", "checkpoint.safetensors")]


@pytest.mark.parametrize("spoil", [flipped, lambda raw: raw[:-40], lambda raw: b""])
def test_a_damaged_checkpoint_gives_way_to_the_one_before(begun, tmp_path, caplog, spoil):
    folder, newest, _ = begun
    newest.write_bytes(spoil(newest.read_bytes()))
    with caplog.at_level("INFO"):
        fedadp.run(SMALL, folder)
    assert "the one before is used, of round 3" in caplog.text
    assert "goes on, after round 3" in caplog.text
    assert (folder / "checkpoint.damaged.safetensors").exists()
    fedadp.run(SMALL, tmp_path / "whole")
    assert sums(folder) == sums(tmp_path / "whole")


def test_two_damaged_checkpoints_are_refused_and_nothing_is_touched(begun):
    folder, *files = begun
    for file in files:
        file.write_bytes(flipped(file.read_bytes()))
    before = {path: path.read_bytes() for path in folder.iterdir() if path.name != ".lock"}
    with pytest.raises(RunError, match=r"checkpoint\.safetensors: .*start over with --restart"):
        fedadp.run(SMALL, folder)
    assert before == {p: p.read_bytes() for p in folder.iterdir() if p.name != ".lock"}


def test_a_checkpoint_that_was_being_renamed_is_no_loss(begun, tmp_path):
    folder, newest, _ = begun
    newest.unlink()
    fedadp.run(SMALL, folder)
    fedadp.run(SMALL, tmp_path / "whole")
    assert sums(folder) == sums(tmp_path / "whole")


def test_what_changed_is_said_by_the_checkpoint_whatever_its_file_says(begun):
    folder, *_ = begun
    changed = replace(SMALL, seed=5, training=Training(epochs=3, learning_rate=0.5))
    (folder / "experiment.toml").write_text(changed.toml())
    said = (
        r"seed is 0 there and 5 here, training\.epochs is 1 there and 3 here, "
        r"training\.learning_rate is 0\.01 there and 0\.5 here"
    )
    with pytest.raises(RunError, match=said):
        fedadp.run(changed, folder)


def test_metrics_without_a_checkpoint_belong_to_somebody_too(begun, caplog):
    folder, *files = begun
    for file in files:
        file.unlink()
    lines = (folder / "metrics.jsonl").read_bytes()
    with pytest.raises(RunError, match="seed is 0 there and 1 here"):
        fedadp.run(replace(SMALL, seed=1), folder)
    assert (folder / "metrics.jsonl").read_bytes() == lines
    with caplog.at_level("WARNING"):
        assert fedadp.run(replace(SMALL, rounds=4), folder).rounds == 4
    assert "holds no checkpoint, so it begins again" in caplog.text
    assert (folder / "metrics.jsonl").read_bytes() == lines
    assert files[0].exists()  # a run that was killed before its first checkpoint has a model too


def test_starting_over_drops_nothing_before_it_can_begin(begun, caplog):
    folder, *_ = begun
    before = sums(folder)
    too_many = replace(SMALL, partition=data.Iid(nodes=200))
    with pytest.raises(DataError, match="fewer nodes"), caplog.at_level("INFO"):
        fedadp.run(too_many, folder, restart=True)
    assert sums(folder) == before
    assert "starts over, and drops 4 rounds" in caplog.text
    assert fedadp.run(replace(SMALL, seed=1), folder, restart=True).rounds == 6
    assert json.loads((folder / "metrics.jsonl").read_bytes().splitlines()[0])["round"] == 1


def test_a_checkpoint_of_today_says_what_it_is_of(begun):
    _, newest, _ = begun
    head = read_head(newest)
    assert head["settings"]["strategy"]["inner"]["name"] == "fedadp"
    assert head["experiment"] == SMALL.digest
    assert load_round(newest, SMALL.strategy.init(), SMALL.digest).number == 4


@dataclass(frozen=True)
class Forgetful(Weighting):
    """Begins with nothing, so that nothing tells in what shape its state comes back."""

    def init(self):
        return None

    def weigh(self, state, cohort):
        return Weighed(cohort.shares, {7: torch.ones(2)}, {})


def test_a_state_that_would_not_come_back_is_refused_when_it_is_kept(tmp_path):
    with pytest.raises(RunError, match="strategy Forgetful: its state cannot be had again"):
        fedadp.run(replace(SMALL, strategy=Forgetful()), tmp_path)


@pytest.mark.parametrize(
    ("state", "says"),
    [
        ({1: torch.ones(1), "1": torch.zeros(1)}, "two tensors of a state have this name"),
        ({(1, 2): 3}, "a tuple cannot be a key"),
    ],
)
def test_keys_that_would_be_confused_are_refused(tmp_path, state, says):
    with pytest.raises(RunError, match=says):
        save_round(tmp_path / "c.safetensors", Round(1, torch.ones(2), state=state), "digest")


def test_there_is_no_round_where_there_is_no_checkpoint(tmp_path):
    with pytest.raises(RunError, match="there is no checkpoint"):
        load_round(tmp_path / "c.safetensors", None, "digest")
