"""Numbers that go wrong: refused where they come from, and never more than a float can hold."""

from dataclasses import dataclass

import pytest
import torch
from torch import nn
from typer.testing import CliRunner

import fedadp
from fedadp import (
    Cohort,
    Examples,
    Experiment,
    FedAdp,
    FedAvg,
    Instructions,
    Model,
    Momentum,
    Robust,
    Round,
    Runtime,
    Step,
    Strategy,
    Training,
    data,
    federate,
)
from fedadp.checkpoint import load_round
from fedadp.cli import app
from fedadp.cohort import exact_sum
from fedadp.engines import Sequential
from fedadp.errors import DivergedError
from fedadp.flat import Flat
from fedadp.testing.toys import toy_nodes

ENGINES = ["sequential", "threads", "batched"]
UPDATES = torch.tensor([[1.0, 0.2, 0.0], [1.0, -0.2, 0.0], [-0.2, 1.0, 0.3]]).double()


def cohort(updates):
    return Cohort.of([0, 1, 2], updates, [100, 100, 100])


def one_loud_node(loudness):
    """Two nodes of three learn from plain numbers, the last from loud ones."""
    x, y = torch.randn(90, 5, generator=torch.Generator().manual_seed(0)), torch.arange(90) % 3
    x[60:] *= loudness
    return data.Arrays((x, y), (x[:30], y[:30]))


class InThree(data.Partition):
    nodes = 3

    def split(self, labels, classes, seed):
        return torch.arange(90).split(30)


def experiment(engine, **changes):
    settings = {
        "data": one_loud_node(1e30),
        "partition": InThree(),
        "model": Model("mlr"),
        "engine": Runtime(engine),
        "training": Training(batch_size=5, learning_rate=0.1),
        "rounds": 3,
    }
    return Experiment(**{**settings, **changes})


@pytest.mark.parametrize("engine", ENGINES)
def test_a_node_that_diverges_is_left_out_and_named_and_the_rounds_go_on(tmp_path, engine):
    run = fedadp.run(experiment(engine), tmp_path)
    assert [record["nodes"] for record in run.records] == [[0, 1]] * 3
    assert [list(record["refused"]) for record in run.records] == [["2"]] * 3
    assert "its loss is nan" in run.records[0]["refused"]["2"]
    kept = load_round(tmp_path / "checkpoint.safetensors", FedAdp().init(), run.experiment.digest)
    assert torch.isfinite(kept.params).all()


@dataclass(frozen=True)
class Leaping(Strategy):
    """In its second round it leaps as far as a float reaches; all nodes diverge from there."""

    def init(self):
        return 0

    def step(self, state, cohort):
        far = torch.full((cohort.size,), 3e38).copysign(torch.randn(cohort.size))
        return Step(far if state == 1 else torch.zeros(cohort.size), state + 1, {})


@pytest.mark.parametrize("engine", ENGINES)
def test_when_all_diverge_the_run_stops_with_advice_and_keeps_the_last_good_model(tmp_path, engine):
    wild = experiment(engine, strategy=Leaping(), rounds=9)
    said = r"round 3: no node's .*model of round 2 is kept, and a learning rate below .* may help"
    with pytest.raises(DivergedError, match=said) as raised:
        fedadp.run(wild, tmp_path)
    assert raised.value.exit_code == 4
    kept = load_round(tmp_path / "checkpoint.safetensors", 0, wild.digest)
    assert (kept.number, kept.state) == (2, 2)
    assert torch.isfinite(kept.params).all()
    assert fedadp.open_run(tmp_path).rounds == 2


def test_a_command_that_diverges_ends_with_4(tmp_path):
    file = tmp_path / "wild.toml"
    file.write_text(
        'model = "mlr"\ndata = {name = "synthetic", examples = 60, test = 20, classes = 3}\n'
        'partition = {name = "iid", nodes = 3}\ntraining = {learning_rate = 1e38}\n'
    )
    done = CliRunner().invoke(app, ["run", str(file), "--out", str(tmp_path / "out"), "--quiet"])
    assert done.exit_code == 4, done.output
    assert len(done.stderr.splitlines()) == 1
    assert "a learning rate below" in done.stderr


@pytest.mark.parametrize("strategy", [FedAvg(), FedAdp(), Robust(FedAdp()), Momentum(FedAdp())])
@pytest.mark.parametrize(
    ("size", "dtype"),
    [
        (1e38, torch.float32), (3.4e38, torch.float32), (1e-44, torch.float32),
        (1e300, torch.float64), (1.5e308, torch.float64), (1e-320, torch.float64),
    ],
)  # fmt: skip
def test_the_size_of_updates_changes_no_weight(strategy, size, dtype):
    there, usual = cohort((UPDATES * size).to(dtype)), cohort(UPDATES)
    found, expected = (strategy.step(strategy.init(), one) for one in (there, usual))
    rough = 0.2 if size < 1e-40 else 1e-6  # few digits are left of numbers that small
    weights = found.notes["weight"]
    assert torch.allclose(weights, expected.notes["weight"], atol=rough)
    assert torch.isfinite(found.delta).all()
    geometry = there.geometry()
    for values in (geometry.norms, geometry.cosines, geometry.distances):
        assert torch.isfinite(values).all()
    assert exact_sum(geometry.distances) > 0


@pytest.mark.parametrize("factor", [1e300, 1e-300])
def test_an_update_of_another_size_leaves_the_others_their_angles(factor):
    mixed = UPDATES.clone()
    mixed[2] *= factor
    geometry = cohort(mixed).geometry()
    norms = UPDATES.norm(dim=1)
    assert torch.allclose(geometry.norms[:2], norms[:2], rtol=1e-14)
    assert geometry.norms[2] == pytest.approx(float(norms[2]) * factor)
    huge = UPDATES[2] if factor > 1 else UPDATES[:2].sum(0)
    expected = [float(row @ (huge / huge.norm()) / row.norm()) for row in UPDATES[:2]]
    assert geometry.cosines[:2].tolist() == pytest.approx(expected, abs=1e-12)


def test_a_huge_update_is_clipped_to_what_is_usual():
    mixed = UPDATES.clone()
    mixed[2] *= 1e300
    step, plain = (Robust(FedAdp()).step(FedAdp().init(), cohort(u)) for u in (mixed, UPDATES))
    assert torch.allclose(step.notes["weight"], plain.notes["weight"], atol=1e-9)
    assert step.delta.norm() < 1.1


@pytest.mark.parametrize("angle", [1e-15, 1e-13])
def test_a_mean_is_nothing_where_only_rounding_is_left_of_it(angle):
    """Opposite updates, but for an angle: 1e-14 of their length is what float64 makes of zero."""
    one = torch.tensor([1.0, 0.0]).double()
    geometry = Cohort.of([0, 1], torch.stack([one, -one + torch.tensor([0.0, angle])]), [1, 1])
    assert (geometry.geometry().mean_norm == 0) == (angle < 1e-14)
    weights = FedAdp().weigh(FedAdp().init(), geometry).weights
    assert torch.equal(weights, geometry.shares) == (angle < 1e-14)


def test_a_step_that_leaves_what_a_float_can_hold_is_no_fault_of_the_strategy():
    module, strategy = nn.Linear(6, 2), Momentum(FedAvg())

    class Wild(Sequential):
        def train(self, params, buffers, told, nodes):
            huge = torch.full((len(nodes), len(params)), 1e38)
            return Cohort.of(nodes, huge, [10] * len(nodes), round=told.round)

    start = Round(0, Flat(module).read())
    rounds = federate(Wild(module, toy_nodes()), strategy, start, Training(learning_rate=0.5))
    with pytest.raises(DivergedError, match=r"round \d: .* a learning rate below 0\.4"):
        for _ in rounds:
            pass


def test_sums_of_huge_numbers_are_exact_or_infinite():
    assert exact_sum(torch.tensor([1e308, 1e308, -1e308], dtype=torch.float64)) == 1e308
    assert exact_sum(torch.tensor([1e308, 1e308], dtype=torch.float64)) == float("inf")


@pytest.mark.parametrize("size", [1e38, 3e38])
def test_huge_updates_do_not_look_broken_because_their_sum_is(size):
    module = nn.Linear(2, 2, bias=False)
    node = {0: Examples(torch.full((4, 2), size), torch.tensor([0, 1, 0, 1]))}
    told = Instructions(round=1, learning_rate=0.5, batch_size=None, steps=1)
    found = Sequential(module, node).train(torch.zeros(4), torch.zeros(0), told, (0,))
    assert not found.refused
