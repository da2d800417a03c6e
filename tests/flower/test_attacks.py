"""Two rows of the table of attacks, with MNIST, the paper's CNN and a grid in between."""

import numpy as np
import pytest
import torch
from flwr.app import Array, ArrayRecord, MetricRecord

from fedadp import FedAdp, FedAvg, Instructions, Model, Robust
from fedadp.data import ClassSkew, Mnist
from fedadp.federation import gather
from fedadp.flat import Flat
from fedadp.testing.loopback import Faults

from .federations import over_loopback

pytestmark = pytest.mark.flower  # it needs MNIST


def flipped(_, content):
    """The update, turned round and ten times as long."""
    arrays = content["arrays"]
    turned = {name: Array(np.float32(-10) * arrays[name].numpy()) for name in arrays}
    return type(content)({**content, "arrays": ArrayRecord(turned)})


def boastful(_, content):
    """The update as it is, from a node that claims to hold a billion examples."""
    metrics = MetricRecord({**content["metrics"], "num-examples": 10**9})
    return type(content)({**content, "metrics": metrics})


@pytest.fixture(scope="module")
def federation():
    """Five nodes with all classes, and five with one each."""
    return gather(Mnist(), ClassSkew(iid=5, skewed=5, classes=1, examples=300), 0)


def cohort(federation, corrupt):
    module = Model("cnn").build(federation.shape, federation.classes, 0)
    faults = Faults()
    engine = over_loopback(module, federation.nodes, faults, strict=False)
    flat, told = Flat(module), Instructions(round=1, learning_rate=0.01, batch_size=32)
    nodes, faults.corrupt = engine.nodes, corrupt  # they say who they are before they attack
    return engine.train(flat.read(), flat.read_buffers(), told, nodes)


def stepped(strategy, cohort, hostile, honest):
    step = strategy.step(strategy.init(), cohort)
    straight = torch.nn.functional.cosine_similarity(step.delta, honest, dim=0)
    return float(straight), float(step.notes["weight"][hostile])


def attacked(federation, attack):
    """Of FedAdp, as published and robust: the cosine to the honest mean, and what node 9 weighs."""
    honest = cohort(federation, {})
    mean = FedAvg().step(FedAvg().init(), honest).delta
    usual = stepped(Robust(FedAdp()), honest, 9, mean)
    turned = cohort(federation, {1009: attack})
    plain, robust = (stepped(s, turned, 9, mean) for s in (FedAdp(), Robust(FedAdp())))
    return usual, plain, robust


def test_a_long_flipped_update_of_the_papers_cnn_is_cut_down(federation):
    usual, plain, robust = attacked(federation, flipped)
    assert plain[0] < -0.5
    assert plain[1] > 0.9
    assert robust[0] > usual[0] - 0.1
    assert robust[1] < 0.01


def test_a_claim_of_a_billion_examples_of_mnist_is_cut_down(federation):
    usual, plain, robust = attacked(federation, boastful)
    assert plain[1] > 0.9999
    assert usual[1] < robust[1] < 0.5  # three times as many as the others, and no more
    assert robust[0] > plain[0]
