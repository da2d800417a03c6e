import json
from dataclasses import dataclass, replace

import numpy as np
import pytest
import torch
from filelock import FileLock
from torch import nn

import fedadp
from fedadp import (
    Experiment,
    FedAdp,
    Model,
    Momentum,
    Runtime,
    Training,
    Weighed,
    Weighting,
    data,
    open_run,
)
from fedadp.checkpoint import load_round, read_head
from fedadp.errors import DataError, ModelError, RunError
from fedadp.models import MODELS, mlr

KEPT = ("metrics.jsonl", "checkpoint.safetensors")


def small(**changes):
    settings = {
        "data": data.Synthetic(examples=300, test=60, classes=4),
        "partition": data.ClassSkew(iid=2, skewed=2, examples=30),
        "model": Model("mlr"),
        "training": Training(batch_size=10, learning_rate=0.05, participation=3),
        "strategy": Momentum(FedAdp()),
        "rounds": 6,
    }
    return Experiment(**{**settings, **changes})


def stop_after(number):
    def watch(record):
        if record["round"] == number:
            raise KeyboardInterrupt

    return watch


@pytest.mark.parametrize(
    ("before", "after"),
    [("threads", "threads"), ("threads", "sequential"), ("batched", "auto")],
)
def test_a_run_that_was_stopped_ends_with_the_same_bits(tmp_path, before, after):
    fedadp.run(small(engine=Runtime(before)), tmp_path / "whole")
    folder = tmp_path / "parts"
    for number in (1, 2, 5):
        with pytest.raises(KeyboardInterrupt):
            fedadp.run(small(engine=Runtime(before)), folder, watch=stop_after(number))
        assert open_run(folder).rounds == number
    fedadp.run(small(engine=Runtime(after)), folder)
    for name in KEPT:
        assert (folder / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


def test_both_engines_and_any_number_of_workers_give_the_same_metrics(tmp_path):
    found = set()
    for i, engine in enumerate(
        [Runtime("sequential"), Runtime("threads", 1), Runtime("threads", 3)]
    ):
        fedadp.run(small(engine=engine), tmp_path / str(i))
        found.add((tmp_path / str(i) / "metrics.jsonl").read_bytes())
    assert len(found) == 1


def test_metrics_that_run_ahead_of_the_checkpoint_are_cut_back(tmp_path):
    fedadp.run(small(rounds=3), tmp_path / "a")
    with (tmp_path / "a" / "metrics.jsonl").open("ab") as file:
        file.write(b'{"round": 4, "accuracy": 0.1}\n{"round": 5, "acc')
    fedadp.run(small(), tmp_path / "a")
    fedadp.run(small(), tmp_path / "b")
    assert (tmp_path / "a" / KEPT[0]).read_bytes() == (tmp_path / "b" / KEPT[0]).read_bytes()


def test_a_finished_run_is_not_run_again_but_can_go_on_for_longer(tmp_path):
    fedadp.run(small(rounds=3), tmp_path / "run")
    before = (tmp_path / "run" / "checkpoint.safetensors").stat().st_mtime_ns
    assert fedadp.run(small(rounds=3), tmp_path / "run").rounds == 3
    assert (tmp_path / "run" / "checkpoint.safetensors").stat().st_mtime_ns == before
    assert fedadp.run(small(rounds=5), tmp_path / "run").rounds == 5
    assert fedadp.run(small(rounds=2), tmp_path / "run", restart=True).rounds == 2


def test_a_folder_of_another_experiment_is_refused_with_what_differs(tmp_path):
    fedadp.run(small(), tmp_path / "run")
    with pytest.raises(RunError, match=r"strategy\.inner\.alpha is 5\.0 there and 2\.0 here"):
        fedadp.run(small(strategy=Momentum(FedAdp(alpha=2.0))), tmp_path / "run")


def test_a_run_does_not_change_its_arithmetic_on_the_way(tmp_path):
    fedadp.run(small(engine=Runtime("batched")), tmp_path)
    with pytest.raises(RunError, match="engine is 'batched' there and 'threads' or"):
        fedadp.run(small(engine=Runtime("threads")), tmp_path)


def test_a_folder_with_other_files_is_left_alone(tmp_path):
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(RunError, match="holds other files"):
        fedadp.run(small(), tmp_path)


def test_a_run_stops_at_its_target_and_knows_the_round(tmp_path):
    run = fedadp.run(small(target=0.5, rounds=200), tmp_path)
    assert run.rounds < 200
    assert run.rounds_to(0.5) == run.rounds
    assert run.rounds_to(1.01) is None
    assert run.best >= 0.5


def test_accuracy_is_measured_as_often_as_asked(tmp_path):
    run = fedadp.run(small(evaluate_every=2), tmp_path)
    assert run.curve("accuracy")[0] == [2, 4, 6]
    assert run.curve("divergence")[0] == [1, 2, 3, 4, 5, 6]


def test_every_round_s_line_says_what_the_paper_watches(tmp_path):
    fedadp.run(small(), tmp_path)
    lines = (tmp_path / "metrics.jsonl").read_text().splitlines()
    names = {
        "round", "accuracy", "loss", "training_loss", "nodes", "weight", "angle",
        "smoothed_angle", "norm", "divergence", "A", "B", "learning_rate", "refused",
    }  # fmt: skip
    for line in lines:
        record = json.loads(line)
        assert names <= record.keys()
        assert len(record["weight"]) == len(record["nodes"]) == 3
        assert sum(record["weight"]) == pytest.approx(1.0)
    assert (tmp_path / "experiment.toml").exists()
    assert json.loads((tmp_path / "nodes.json").read_text())["kinds"][2] == "1-class"


def test_a_run_can_be_opened_from_its_folder(tmp_path):
    run = fedadp.run(small(), tmp_path)
    assert open_run(tmp_path) == run
    with pytest.raises(RunError, match="no run is here"):
        open_run(tmp_path / "nowhere")


def test_evaluation_is_the_plain_one(tmp_path):
    experiment = small(rounds=1)
    run = fedadp.run(experiment, tmp_path)
    kept = load_round(
        tmp_path / "checkpoint.safetensors", experiment.strategy.init(), experiment.digest
    )
    test = experiment.data.load().test
    weight, bias = kept.params[:-4].view(4, 20), kept.params[-4:]
    logits = test.x @ weight.T + bias
    assert run.records[0]["accuracy"] == float((logits.argmax(1) == test.y).double().mean())
    loss = float(nn.functional.cross_entropy(logits, test.y))
    assert run.records[0]["loss"] == pytest.approx(loss, rel=1e-6)


def test_a_folder_that_cannot_be_written_is_one_sentence(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(RunError, match="cannot be written"):
        fedadp.run(small(), tmp_path / "file" / "run")


def test_arrays_in_memory_run_and_resume(tmp_path):
    x, y = torch.randn(80, 5), torch.arange(80) % 4
    experiment = small(data=data.Arrays((x, y), (x, y)), partition=data.Iid(nodes=4), rounds=2)
    assert fedadp.run(experiment, tmp_path).rounds == 2
    assert fedadp.run(replace(experiment, rounds=3), tmp_path).rounds == 3
    assert open_run(tmp_path).rounds == 3
    other = small(data=data.Arrays((x + 1, y), (x, y)), partition=data.Iid(nodes=4), rounds=2)
    with pytest.raises(RunError, match=r"data\.train"):
        fedadp.run(other, tmp_path)
    with pytest.raises(DataError, match="hand in"):
        open_run(tmp_path).experiment.data.load()


def test_a_typo_that_nothing_ran_under_does_not_block_the_folder(tmp_path):
    with pytest.raises(ModelError):
        fedadp.run(small(model=Model("nowhere:Net")), tmp_path)
    assert fedadp.run(small(), tmp_path).rounds == 6


def test_a_target_that_was_reached_before_ends_the_run(tmp_path):
    run = fedadp.run(small(rounds=12), tmp_path)
    reached = replace(run.experiment, target=run.curve("accuracy")[1][0], rounds=99)
    assert fedadp.run(reached, tmp_path).rounds == 12


def test_the_last_round_is_always_measured(tmp_path):
    assert fedadp.run(small(evaluate_every=4), tmp_path).curve("accuracy")[0] == [4, 6]


@dataclass(frozen=True)
class Talkative(Weighting):
    """Says things that no metric may be overwritten with, nor JSON hold."""

    def init(self):
        shared = torch.zeros(3)
        return (shared, shared)

    def weigh(self, state, cohort):
        notes = {"round": 99, "norm": 1, "odd": np.float64("inf"), "array": np.arange(2)}
        return Weighed(cohort.shares, state, notes)


def test_notes_of_a_strategy_never_replace_a_metric(tmp_path):
    run = fedadp.run(small(strategy=Talkative()), tmp_path)
    assert [record["round"] for record in run.records] == [1, 2, 3, 4, 5, 6]
    assert len(run.records[0]["norm"]) == 3
    assert run.records[0]["odd"] is None
    assert run.records[0]["array"] == [0, 1]


def test_one_process_at_a_time_works_on_a_folder(tmp_path):
    tmp_path.joinpath("experiment.toml").write_text("")
    with FileLock(tmp_path / ".lock"), pytest.raises(RunError, match="another process is at work"):
        fedadp.run(small(), tmp_path)


def test_a_checkpoint_is_written_now_and_then_while_a_run_goes_on(tmp_path, monkeypatch):
    monkeypatch.setattr("fedadp.keeper.SECONDS_BETWEEN_CHECKPOINTS", -1.0)
    kept = []

    def watch(record):
        path = tmp_path / "checkpoint.safetensors"
        kept.append(read_head(path)["number"] if path.exists() else 0)

    fedadp.run(small(), tmp_path, watch=watch)
    assert kept == [0, 1, 2, 3, 4, 5]


def test_a_full_disk_is_one_sentence(tmp_path, monkeypatch):
    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(RunError, match=r"cannot be written \(No space left"):
        fedadp.run(small(), tmp_path / "run")


def test_metrics_that_are_not_of_one_run_are_refused(tmp_path):
    fedadp.run(small(), tmp_path)
    metrics = tmp_path / "metrics.jsonl"
    lines = metrics.read_text().splitlines(keepends=True)
    metrics.write_text("".join(lines[:3] + lines[2:5]))
    with pytest.raises(RunError, match="its rounds are not 1, 2, 3"):
        fedadp.run(small(rounds=9), tmp_path)


def test_the_owner_s_own_words_in_an_experiment_file_stay(tmp_path):
    text = "# mine\n" + small().toml()
    (tmp_path / "experiment.toml").write_text(text)
    fedadp.run(small(), tmp_path)
    assert (tmp_path / "experiment.toml").read_text() == text


def test_each_experiment_learns_from_its_own_arrays(tmp_path):
    x = torch.randn(200, 5)
    found = []
    for labels in ((x[:, 0] > 0).long(), torch.arange(200) % 2):
        arrays = data.Arrays((x, labels), (x, labels))
        one = small(data=arrays, partition=data.Iid(nodes=2), rounds=8, training=Training())
        found.append(fedadp.run(one, tmp_path / str(len(found))).best)
    assert data.Arrays((x, x), (x, x)) != data.Arrays((x, x), (x, x))
    assert found[0] != found[1]


def test_data_that_changed_under_a_run_are_noticed(tmp_path):
    x, y = torch.randn(80, 5), torch.arange(80) % 4
    arrays = data.Arrays((x, y), (x, y))
    one = small(data=arrays, partition=data.Iid(nodes=4), rounds=2)
    fedadp.run(one, tmp_path)
    nodes = json.loads((tmp_path / "nodes.json").read_text())
    (tmp_path / "nodes.json").write_text(json.dumps({**nodes, "sha256": "of other data"}))
    with pytest.raises(RunError, match="not those that the run began with"):
        fedadp.run(replace(one, rounds=3), tmp_path)


def test_a_model_with_too_few_outputs_is_refused_before_the_first_round(tmp_path, monkeypatch):
    monkeypatch.setitem(MODELS, "mlr", lambda shape, classes: mlr(shape, classes - 1))
    with pytest.raises(ModelError, match=r"output has shape \(3,\), but labels go up to 3"):
        fedadp.run(small(), tmp_path)


def test_the_setting_that_differs_is_named_before_the_engine(tmp_path):
    fedadp.run(small(engine=Runtime("batched")), tmp_path)
    changed = small(engine=Runtime("threads"), seed=5)
    with pytest.raises(RunError, match="seed is 0 there and 5 here"):
        fedadp.run(changed, tmp_path)
