"""Models that draw random numbers, and others that keep something to themselves."""

import threading

import pytest
import torch
from torch import nn

from fedadp import Examples, Instructions, Round
from fedadp.engines import Batched, Sequential, Threads
from fedadp.evaluation import Evaluator
from fedadp.flat import Flat
from fedadp.testing.toys import toy_model, toy_nodes

TOLD = Instructions(round=1, batch_size=4, learning_rate=0.1)


class SometimesRandom(nn.Module):
    """Dropout that a batch of two never meets."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(6, 2)

    def forward(self, x):
        return self.linear(nn.functional.dropout(x, 0.5) if len(x) > 3 else x)


class KeepsCount(nn.Module):
    """A buffer that is not in the state dict, and takes part in training."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(6, 2)
        self.register_buffer("seen", torch.zeros(()), persistent=False)

    def forward(self, x):
        self.seen += 1
        return self.linear(x) * (1 + self.seen)


def updates(engine, told=TOLD):
    module = engine_module[0]
    flat = Flat(module)
    cohort = engine.train(flat.read(), flat.read_buffers(), told, engine.nodes)
    return torch.cat(list(cohort.slabs()), dim=1).clone(), cohort


engine_module = [None]


@pytest.mark.parametrize("make", [SometimesRandom, KeepsCount, toy_model])
def test_every_engine_gives_the_same_bits(make):
    engine_module[0] = module = make()
    nodes = toy_nodes()
    reference, _ = updates(Sequential(module, nodes))
    for engine in (Threads(module, nodes, workers=2), Threads(module, nodes, workers=4)):
        assert torch.equal(updates(engine)[0], reference)
        assert torch.equal(updates(engine)[0], reference)  # and again


def test_nodes_with_the_same_data_draw_differently():
    engine_module[0] = module = nn.Sequential(nn.Linear(6, 8), nn.Dropout(0.5), nn.Linear(8, 2))
    same = toy_nodes()[3]
    for make in (Sequential, Threads, Batched):
        found, _ = updates(make(module, {0: same, 1: same}), Instructions(round=1, batch_size=None))
        assert not torch.equal(found[0], found[1])


def test_training_leaves_torch_s_generator_and_the_caller_s_model_alone():
    engine_module[0] = module = toy_model()
    before = {name: value.clone() for name, value in module.state_dict().items()}
    engine = Threads(module, toy_nodes())
    state = torch.get_rng_state()
    updates(engine)
    assert torch.equal(state, torch.get_rng_state())
    for name, value in module.state_dict().items():
        assert torch.equal(value, before[name]), name


def test_a_model_handed_in_for_testing_is_trained_all_the_same():
    engine_module[0] = module = nn.Sequential(nn.Linear(6, 4), nn.BatchNorm1d(4), nn.Linear(4, 2))
    for make in (Sequential, Threads):
        _, cohort = updates(make(module.eval(), toy_nodes()))
        assert not torch.equal(cohort.buffers[0], Flat(module).read_buffers())


def test_threads_train_nodes_at_the_same_time():
    meet = threading.Barrier(2, timeout=30)

    def loss(output, y):
        if len(y) == 4:  # not when the engine tries the model out
            meet.wait()
        return nn.functional.cross_entropy(output, y)

    nodes = {
        node: Examples(torch.randn(4, 6), torch.zeros(4, dtype=torch.int64)) for node in (0, 1)
    }
    engine_module[0] = module = nn.Linear(6, 2)
    updates(Threads(module, nodes, loss, workers=2))


def test_a_model_that_draws_when_tested_scores_the_same_twice():
    class Noisy(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(6, 2)

        def forward(self, x):
            return self.linear(nn.functional.dropout(x, 0.5))  # in testing, too

    flat = Flat(Noisy())
    examples = Examples(torch.randn(450, 6), torch.randint(0, 2, (450,)))
    now = Round(3, flat.read(), flat.read_buffers())
    found = [Evaluator(flat.module, examples, workers=n)(now) for n in (1, 2, 3)]
    assert found[0] == found[1] == found[2]


def test_a_model_is_tested_in_testing_mode_and_with_the_round_s_statistics():
    module = nn.Sequential(nn.Linear(6, 4), nn.BatchNorm1d(4), nn.Dropout(0.5), nn.Linear(4, 2))
    trained = nn.Sequential(*module)
    examples = Examples(torch.randn(300, 6), torch.randint(0, 2, (300,)))
    score = Evaluator(module, examples, workers=2)
    flat = Flat(module)
    statistics = flat.read_buffers() + torch.rand(9).double()
    flat.write_buffers(statistics)
    with torch.no_grad():
        logits = trained.eval()(examples.x)
    found = score(Round(1, flat.read(), flat.read_buffers()))
    assert found["accuracy"] == float((logits.argmax(1) == examples.y).double().mean())
    loss = float(nn.functional.cross_entropy(logits, examples.y))
    assert found["loss"] == pytest.approx(loss, rel=1e-5)


def test_counters_are_rounded_when_they_come_back():
    flat = Flat(nn.BatchNorm1d(2))
    flat.write_buffers(torch.tensor([0.0, 0.0, 1.0, 1.0, 18.6], dtype=torch.float64))
    assert flat.module.num_batches_tracked.item() == 19


@pytest.mark.parametrize("make", [Sequential, Threads, Batched])
def test_a_finite_loss_does_not_excuse_an_update_that_is_not(make):
    engine_module[0] = module = nn.Linear(1, 2, bias=False)
    nodes = {node: Examples(torch.full((4, 1), x), torch.tensor([0, 0, 1, 1]))
             for node, x in ((0, 1.0), (1, 1e30))}  # fmt: skip
    nodes[1].y.fill_(0)
    told = Instructions(round=1, steps=1, batch_size=None, learning_rate=1e20)
    with torch.no_grad():
        module.weight.zero_()
    _, cohort = updates(make(module, nodes), told)
    assert cohort.refused == {1: "its update is not finite"}


@pytest.mark.parametrize("make", [Sequential, Threads])
def test_statistics_that_are_not_finite_are_refused(make):
    engine_module[0] = module = nn.Sequential(nn.BatchNorm1d(6), nn.Linear(6, 2))
    nodes = toy_nodes()
    nodes[5] = Examples(nodes[5].x * 1e20, nodes[5].y)
    _, cohort = updates(make(module, nodes), Instructions(round=1, batch_size=None))
    assert cohort.refused == {5: "its statistics are not finite"}


def test_a_float64_model_trains_on_float32_data():
    engine_module[0] = module = nn.Linear(6, 2).double()
    for make in (Sequential, Threads, Batched):
        found, _ = updates(make(module, toy_nodes()))
        assert found.dtype == torch.float64
