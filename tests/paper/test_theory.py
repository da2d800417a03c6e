from dataclasses import replace

import pytest
import torch
from torch import nn

from fedadp import Examples, Experiment, FedAdp, FedSGD, Model, Training
from fedadp.data import ClassSkew, Synthetic
from fedadp.federation import Federation, Held, gather
from fedadp.flat import Flat
from fedadp.paper.theory import Objective, observe


@pytest.fixture
def federation():
    source = Synthetic(examples=400, test=50, shape=[6], classes=4)
    return gather(source, ClassSkew(iid=2, skewed=2, classes=1, examples=40), 0)


def test_the_objective_and_its_gradients_are_those_of_autograd(federation):
    module = nn.Sequential(nn.Flatten(), nn.Linear(6, 4)).double()
    flat = Flat(module)
    loss, gradients = Objective.over(federation).at(flat.read())
    losses = []
    for node, found in enumerate(gradients):
        own = federation.nodes[node]
        value = nn.functional.cross_entropy(module(own.x.double()), own.y)
        expected = torch.autograd.grad(value, flat.parameters)
        torch.testing.assert_close(found, torch.cat([g.flatten() for g in expected]))
        losses.append(value.item())
    assert loss == pytest.approx(sum(losses) / 4)


def test_beta_bounds_how_fast_any_nodes_gradient_turns(federation):
    objective, beta = Objective.over(federation), Objective.over(federation).smoothness()
    for _ in range(50):
        one, two = torch.randn(28, dtype=torch.float64), torch.randn(28, dtype=torch.float64)
        turned = objective.at(one)[1] - objective.at(two)[1]
        assert bool((turned.norm(dim=1) <= beta * (one - two).norm()).all())


def test_beta_by_hand():
    # one example x = 1 with a one beside it: the moments are [[1, 1], [1, 1]], whose largest
    # eigenvalue is 2
    one = Examples(torch.ones(1, 1), torch.tensor([0]))
    alone = Federation(Held(one, [1]), one, 2, torch.tensor([[1, 0]]), ("iid",))
    assert Objective.over(alone).smoothness() == pytest.approx(1.0)


def test_with_instantaneous_angles_theorem_2_holds_in_every_round():
    experiment = Experiment(
        data=Synthetic(examples=2000, shape=[8]),
        partition=ClassSkew(iid=3, skewed=4, examples=60),
        model=Model("mlr"),
        training=Training(learning_rate=0.1),
        rounds=15,
    )
    for strategy in (FedAdp(), FedSGD(FedAdp())):
        terms = observe(replace(experiment, strategy=strategy))
        pairs = zip(terms["under_instantaneous"], terms["under_fedavg"], strict=True)
        assert all(ours >= theirs - 1e-12 for ours, theirs in pairs)
        assert len(terms["decrease"]) == 15
        # no step can see a curvature above the bound
        assert 0 < terms["beta_seen"] <= terms["beta"]
