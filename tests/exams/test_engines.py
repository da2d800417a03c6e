"""Every engine takes the same exam, and must agree with the sequential one."""

import pytest
import torch
from torch import nn

from fedadp import Cohort, Examples, Instructions, Runtime
from fedadp.engines import Batched, Sequential, Threads
from fedadp.federation import Held
from fedadp.flat import Flat
from fedadp.testing import ENGINE_EXAM
from fedadp.testing import engines as exam
from fedadp.testing.toys import toy_model, toy_models, toy_nodes

ROWS = {  # and how far each may be from the reference
    "sequential": (Sequential, 0.0),
    "threads": (Threads, 0.0),
    "threads, 1 worker": (lambda module, data: Threads(module, data, workers=1), 0.0),
    "threads, 3 workers": (lambda module, data: Threads(module, data, workers=3), 0.0),
    "batched": (Batched, 1e-5),
}


@pytest.mark.parametrize("check", ENGINE_EXAM, ids=lambda check: check.__name__)
@pytest.mark.parametrize(("make", "tolerance"), ROWS.values(), ids=ROWS)
def test_an_engine_passes(make, tolerance, check):
    check(make, tolerance)


@pytest.mark.parametrize("module", toy_models()[1:], ids=["layers", "linear"])
def test_batched_gives_the_same_bits_for_any_number_of_workers(module):
    nodes, told = toy_nodes(), Instructions(round=1, batch_size=4, momentum=0.9)
    flat = Flat(module)
    found = []
    for workers in (1, 2, 5):
        engine = Batched(module, nodes, workers=workers)
        assert engine.stacks
        found.append(rows(engine.train(flat.read(), flat.read_buffers(), told, engine.nodes)))
    assert all(torch.equal(found[0], other) for other in found[1:])


@pytest.mark.skipif(not torch.cuda.is_available(), reason="PyTorch sees no GPU here")
@pytest.mark.parametrize("check", ENGINE_EXAM, ids=lambda check: check.__name__)
def test_batched_on_a_gpu_passes(check):
    check(lambda module, data: Batched(module, data, device="cuda"), 1e-4)


def test_a_model_that_cannot_be_stacked_trains_all_the_same():
    assert not Batched(toy_model(), toy_nodes()).stacks


class Wrong(Sequential):
    """A reference engine whose cohorts a test can spoil."""

    def spoil(self, cohort):
        return cohort

    def train(self, params, buffers, told, nodes):
        return self.spoil(super().train(params, buffers, told, nodes))


def rows(cohort):
    return torch.cat(list(cohort.slabs()), dim=1)


class Shuffles(Wrong):
    def spoil(self, cohort):
        return Cohort.of(cohort.nodes[::-1], rows(cohort), cohort.examples, buffers=cohort.buffers)


class Forgetful(Wrong):
    def spoil(self, cohort):
        return Cohort.of(cohort.nodes, rows(cohort), cohort.examples, round=1)


class LetsNanIn(Wrong):
    def spoil(self, cohort):
        cohort.refused = {}
        return cohort


@pytest.mark.parametrize(
    ("make", "check"),
    [
        (Shuffles, exam.it_agrees_with_the_reference),
        (Forgetful, exam.an_update_carries_its_round),
        (LetsNanIn, exam.a_diverging_node_is_left_out_and_named),
    ],
)
def test_a_bug_is_caught(make, check):
    with pytest.raises(AssertionError):
        check(make, 0.0)


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_threads_train_a_wide_model_to_the_same_bits(workers):
    module, nodes = nn.Sequential(nn.Linear(6, 64), nn.ReLU(), nn.Linear(64, 2)), toy_nodes()
    told = Instructions(round=1, batch_size=4, epochs=2)
    start = torch.cat([p.detach().flatten() for p in module.parameters()])
    ours = Threads(module, nodes, workers=workers).train(start, torch.zeros(0), told, (3, 5, 7, 9))
    reference = Sequential(module, nodes).train(start, torch.zeros(0), told, (3, 5, 7, 9))
    assert torch.equal(rows(ours), rows(reference))


def test_auto_is_batched_for_small_models_and_threads_for_large_ones():
    nodes = toy_nodes()
    small, large = nn.Linear(6, 2), nn.Sequential(nn.Linear(6, 6000), nn.Linear(6000, 2))
    assert type(Runtime().open(small, nodes)) is Batched
    assert type(Runtime().open(large, nodes)) is Threads
    assert type(Runtime("sequential").open(small, nodes)) is Sequential


def test_batched_takes_examples_side_by_side_or_one_by_one():
    nodes, told = toy_nodes(), Instructions(round=1, batch_size=4)
    order = sorted(nodes)
    together = Examples(
        torch.cat([nodes[n].x for n in order]), torch.cat([nodes[n].y for n in order])
    )
    held = Held(together, [len(nodes[n]) for n in order])
    module = nn.Linear(6, 2)
    flat, ids = Flat(module), tuple(range(len(order)))
    apart = {i: nodes[n] for i, n in enumerate(order)}
    found = [
        rows(Batched(module, data).train(flat.read(), flat.read_buffers(), told, ids))
        for data in (held, apart)
    ]
    assert torch.equal(*found)
