from itertools import islice

import pytest
import torch
from torch import nn

from fedadp import (
    Cohort,
    Examples,
    FedAdp,
    FedAvg,
    FedProx,
    FedSGD,
    Instructions,
    Momentum,
    Round,
    Training,
    federate,
)
from fedadp.engines import Sequential, Threads
from fedadp.errors import DataError, ModelError, SettingError, TrainingError
from fedadp.flat import Flat
from fedadp.states import same_bits
from fedadp.testing.toys import toy_model, toy_nodes


def rounds(engine, strategy, start, training, count, seed=0):
    return list(islice(federate(engine, strategy, start, training, seed=seed), count))


def start_of(module):
    flat = Flat(module)
    return Round(0, flat.read(), flat.read_buffers())


@pytest.mark.parametrize("stop", [1, 4, 7])
@pytest.mark.parametrize("make", [Sequential, Threads])
def test_a_loop_that_was_stopped_goes_on_with_the_same_bits(make, stop):
    module, training = toy_model(), Training(batch_size=4, participation=0.5, decay=0.9)
    strategy = Momentum(FedAdp())
    whole = rounds(make(module, toy_nodes()), strategy, start_of(module), training, 8)
    again = rounds(make(module, toy_nodes()), strategy, whole[stop - 1], training, 8 - stop)
    assert torch.equal(whole[-1].params, again[-1].params)
    assert torch.equal(whole[-1].buffers, again[-1].buffers)
    assert same_bits(whole[-1].state, again[-1].state)
    assert [now.nodes for now in whole[stop:]] == [now.nodes for now in again]


def test_a_model_with_batchnorm_gets_the_weights_of_its_trainable_part_alone():
    module, nodes = toy_model(), toy_nodes()
    engine = Threads(module, nodes)
    (now,) = rounds(engine, FedAdp(), start_of(module), Training(batch_size=4), 1)
    told = Training(batch_size=4).at(1, 0)
    flat = Flat(module)
    cohort = engine.train(flat.read(), flat.read_buffers(), told, engine.nodes)
    trainable = torch.cat(list(cohort.slabs()), dim=1)
    assert trainable.shape[1] == sum(p.numel() for p in module.parameters())
    alone = Cohort.of(cohort.nodes, trainable, cohort.examples)
    assert torch.equal(now.notes["weight"], FedAdp().weigh(FedAdp().init(), alone).weights)
    mean = cohort.shares @ cohort.buffers
    assert torch.allclose(now.buffers, mean, rtol=1e-15)


def test_strategies_are_compared_on_the_same_nodes_batches_and_schedule():
    module, training = toy_model(), Training(batch_size=4, participation=2, decay=0.5)
    engine = Sequential(module, toy_nodes())
    one = rounds(engine, FedAvg(), start_of(module), training, 3)
    two = rounds(engine, FedAdp(), start_of(module), training, 3)
    assert [now.nodes for now in one] == [now.nodes for now in two]
    assert torch.equal(one[0].notes["angle"], two[0].notes["angle"])  # the same first updates
    rates = [now.notes["learning_rate"] for now in one]
    assert rates == [now.notes["learning_rate"] for now in two] == [0.01, 0.005, 0.0025]


def test_partial_participation_is_drawn_anew_in_each_round_and_by_seed():
    training = Training(participation=0.3)
    drawn = [training.sample(range(10), number, seed=0) for number in range(1, 30)]
    assert {len(nodes) for nodes in drawn} == {3}
    assert len(set(drawn)) > 10
    assert drawn == [training.sample(range(10), number, seed=0) for number in range(1, 30)]
    assert drawn != [training.sample(range(10), number, seed=1) for number in range(1, 30)]
    assert Training(participation=4).sample(range(10), 1, 0) != (0, 1, 2, 3)
    assert Training().sample([5, 3], 1, 0) == (3, 5)
    assert len(Training(participation=1).sample(range(10), 1, 0)) == 1


def test_more_nodes_than_there_are_cannot_take_part():
    with pytest.raises(SettingError, match="at most all 3 nodes"):
        Training(participation=4).sample([0, 1, 2], 1, 0)


@pytest.mark.parametrize(
    "wrong",
    [
        {"epochs": 0},
        {"steps": 0},
        {"batch_size": -1},
        {"learning_rate": float("nan")},
        {"learning_rate": 0.0},
        {"decay": 1.5},
        {"momentum": 1.0},
        {"weight_decay": -0.1},
        {"proximal": float("inf")},
        {"participation": 0.0},
        {"participation": 1.5},
        {"participation": 0},
    ],
)
def test_impossible_training_is_refused(wrong):
    with pytest.raises(SettingError, match=next(iter(wrong))):
        Training(**wrong)


def test_updates_of_another_round_never_count():
    class Late(Sequential):
        def train(self, params, buffers, told, nodes):
            cohort = super().train(params, buffers, told, nodes)
            cohort.round -= 1
            return cohort

    module = toy_model()
    late = Late(module, toy_nodes())
    with pytest.raises(TrainingError, match=r"round 1: .* began in round 0"):
        next(federate(late, FedAdp(), start_of(module)))


def test_diagnostics_come_with_every_round():
    module = nn.Linear(6, 2)
    engine, training = Sequential(module, toy_nodes()), Training(learning_rate=0.1)
    (now,) = rounds(engine, FedAdp(), start_of(module), training, 1)
    flat = Flat(module)
    cohort = engine.train(flat.read(), flat.read_buffers(), training.at(1, 0), engine.nodes)
    updates = torch.cat(list(cohort.slabs()), dim=1).double()
    gradients = -updates / 0.1
    mean = cohort.shares @ gradients
    divergence = (gradients - mean).norm(dim=1).mean()
    assert now.notes["divergence"] == pytest.approx(float(divergence), rel=1e-10)
    ratios = gradients.norm(dim=1) / mean.norm()
    assert now.notes["A"] == pytest.approx(float(ratios.min()))
    assert now.notes["B"] == pytest.approx(float(ratios.max()))
    assert torch.allclose(now.notes["norm"], updates.norm(dim=1))
    for name in ("weight", "angle", "smoothed_angle"):
        assert now.notes[name].shape == (6,)
    assert now.notes["training_loss"] == pytest.approx(float(cohort.shares @ cohort.notes["loss"]))


def test_a_refused_node_s_history_is_untouched():
    nodes = toy_nodes()
    module = nn.Linear(6, 2)
    first = rounds(Sequential(module, nodes), FedAdp(), start_of(module), Training(), 1)[0]
    poisoned = {**nodes, 7: Examples(torch.full_like(nodes[7].x, torch.inf), nodes[7].y)}
    second = rounds(Sequential(module, poisoned), FedAdp(), first, Training(), 1)[0]
    assert second.nodes == (3, 5, 9, 11, 13)
    assert list(second.notes["refused"]) == [7]
    assert torch.equal(second.state.of([7]), first.state.of([7]))
    assert torch.isfinite(second.params).all()


def test_a_model_that_cannot_take_the_data_says_so_at_once():
    with pytest.raises(Exception, match="must fit the data"):
        Threads(nn.Linear(5, 2), toy_nodes())


def test_nodes_are_told_what_the_strategy_wants():
    module, training = nn.Linear(6, 2), Training(learning_rate=0.1, batch_size=4, epochs=3)
    engine = Sequential(module, toy_nodes())
    start = start_of(module)
    plain, sgd, prox = (
        rounds(engine, strategy, start, training, 1)[0]
        for strategy in (FedAvg(), FedSGD(), FedProx(mu=1.0))
    )
    told = Instructions(round=1, steps=1, batch_size=None, learning_rate=0.1)
    cohort = engine.train(start.params, start.buffers, told, engine.nodes)
    assert torch.equal(sgd.params, start.params + cohort.combine(cohort.shares))
    assert 0 < (prox.params - start.params).norm() < (plain.params - start.params).norm()


def test_a_fraction_of_nodes_is_rounded_half_up():
    assert len(Training(participation=0.25).sample(range(10), 1, 0)) == 3
    assert len(Training(participation=0.01).sample(range(10), 1, 0)) == 1


def test_a_learning_rate_that_has_faded_away_divides_nothing_by_zero():
    module = nn.Linear(6, 2)
    late = Round(5000, start_of(module).params)
    now = next(federate(Sequential(module, toy_nodes()), FedAdp(), late, Training(decay=0.5)))
    assert now.number == 5001


def test_a_start_of_another_model_is_refused():
    engine = Sequential(toy_model(), toy_nodes())
    with pytest.raises(ModelError, match="3 where the model has"):
        next(federate(engine, FedAvg(), Round(0, torch.zeros(3))))
    with pytest.raises(ModelError, match="buffers: 0 where"):
        next(federate(engine, FedAvg(), Round(0, start_of(toy_model()).params)))


def test_engines_without_nodes_or_nodes_without_examples_are_refused():
    nodes = toy_nodes()
    nodes[7] = Examples(nodes[7].x[:0], nodes[7].y[:0])
    with pytest.raises(DataError, match="node 7 has no examples"):
        Threads(nn.Linear(6, 2), nodes)
    with pytest.raises(DataError, match="no nodes"):
        Sequential(nn.Linear(6, 2), {})
