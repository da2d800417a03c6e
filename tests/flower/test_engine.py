"""Nodes behind a grid, and all that can go wrong on the way."""

import pytest
import torch
from torch import nn

from fedadp import FedAdp, Instructions, Round, Training, federate
from fedadp.core import Examples
from fedadp.engines import Sequential
from fedadp.engines.inprocess import Workshop
from fedadp.errors import AbandonedError, DataError, QuorumError
from fedadp.flat import Flat
from fedadp.flower.node import Seat, pack, unpack
from fedadp.quorum import Quorum
from fedadp.testing import check_engine
from fedadp.testing.loopback import Faults
from fedadp.testing.toys import toy_model, toy_nodes

from .federations import over_loopback

TRAINING = Training(learning_rate=0.1, batch_size=4)


def rounds(engine, count, module):
    flat = Flat(module)
    start = Round(0, flat.read(), flat.read_buffers())
    found = []
    for now in federate(engine, FedAdp(), start, TRAINING):
        found.append(now)
        if now.number == count:
            return found
    raise AssertionError


def test_it_passes_the_exam_of_an_engine_to_the_bit():
    check_engine(over_loopback)


def test_an_experiment_gives_the_same_bits_as_on_one_machine():
    module, nodes = toy_model(), toy_nodes()
    ours = rounds(over_loopback(module, nodes, Faults(delay=3, duplicate=0.3)), 5, module)
    plain = rounds(Sequential(module, nodes), 5, module)
    assert torch.equal(ours[-1].params, plain[-1].params)
    assert torch.equal(ours[-1].buffers, plain[-1].buffers)
    assert ours[-1].notes["weight"].tolist() == plain[-1].notes["weight"].tolist()


def test_instructions_survive_a_message():
    for told in (
        Instructions(round=3, seed=2**62, batch_size=None, steps=4, proximal=0.25),
        Instructions(round=1),
    ):
        assert unpack(pack(told, 10)) == told


def test_a_node_that_is_offline_is_left_out_and_comes_back():
    module, nodes = toy_model(), toy_nodes()
    faults = Faults()
    engine = over_loopback(module, nodes, faults, strict=False)
    first = rounds(engine, 1, module)[0]
    assert first.nodes == engine.nodes
    faults.gone = frozenset({1005})
    cohort = engine.train(first.params, first.buffers, Instructions(round=2), engine.nodes)
    assert 5 not in cohort.nodes
    assert cohort.refused[5] == "it is offline"
    faults.gone = frozenset()
    back = engine.train(first.params, first.buffers, Instructions(round=3), engine.nodes)
    assert back.nodes == engine.nodes


def test_a_reply_that_never_comes_costs_the_timeout_and_no_more():
    module, nodes = toy_model(), toy_nodes()
    quorum = Quorum(min_replies=1, timeout=0.05)
    faults = Faults()
    engine = over_loopback(module, nodes, faults, quorum, strict=False)
    assert len(engine.nodes) == 6
    faults.drop, faults.seed = 0.5, 4
    cohort = engine.train(*start(module), Instructions(round=1), engine.nodes)
    missing = set(engine.nodes) - set(cohort.nodes)
    assert missing
    assert missing == cohort.refused.keys()
    assert all("no reply within 0.05 s" in why for why in cohort.refused.values())


def start(module):
    flat = Flat(module)
    return flat.read(), flat.read_buffers()


def test_an_abandoned_round_is_a_round_that_changes_nothing():
    module, nodes = toy_model(), toy_nodes()
    faults, quorum = Faults(), Quorum(min_replies=1.0, timeout=0.05, max_abandoned=3)
    engine = over_loopback(module, nodes, faults, quorum, strict=False)
    going = federate(engine, FedAdp(), Round(0, *start(module)), TRAINING)
    one = next(going)
    faults.gone = frozenset({1005})
    two = next(going)
    assert (two.number, two.nodes) == (2, ())
    assert "5 of the 6 replies needed" not in one.notes.get("abandoned", "")
    assert two.notes["abandoned"].startswith("round 2: 5 of the 6 replies needed can be used")
    assert torch.equal(one.params, two.params)
    assert one.state is two.state
    faults.gone = frozenset()
    three = next(going)
    assert three.number == 3
    assert three.nodes == engine.nodes
    faults.gone = frozenset({1005})
    next(going), next(going)
    with pytest.raises(QuorumError, match="3 rounds in a row"):
        next(going)


def test_abandoning_is_told_to_whoever_trains_without_the_loop():
    module, nodes = toy_model(), toy_nodes()
    quorum = Quorum(min_replies=1.0, timeout=0.05)
    engine = over_loopback(module, nodes, Faults(), quorum, strict=False)
    engine.nodes  # noqa: B018  they are met
    engine._grid.faults.gone = frozenset({1003})
    with pytest.raises(AbandonedError) as caught:
        engine.train(*start(module), Instructions(round=1), (3, 5))
    assert caught.value.refused == {3: "it is offline"}


def test_stand_ins_fill_the_places_of_nodes_that_are_late():
    module, nodes = toy_model(), toy_nodes()
    faults, quorum = Faults(), Quorum(over_select=2.0, timeout=5)
    engine = over_loopback(module, nodes, faults, quorum, strict=False)
    asked = engine.nodes[:3]
    faults.gone = frozenset({1000 + asked[0]})
    cohort = engine.train(*start(module), Instructions(round=1), asked)
    assert len(cohort) == 3
    assert asked[0] not in cohort.nodes


@pytest.mark.parametrize(
    ("module", "examples", "why"),
    [
        (nn.Linear(6, 3), toy_nodes()[3], "other arrays than ours"),
        (toy_model(), Examples(torch.randn(4, 1, 6), torch.tensor([0, 1, 0, 1])), "shape"),
    ],
)
def test_a_node_that_does_not_fit_is_told_at_the_start(module, examples, why, caplog):
    ours, nodes = nn.Linear(6, 2), toy_nodes()
    if "shape" in why:
        ours = nn.Sequential(nn.Flatten(), nn.Linear(6, 2))
        module = ours
    shop = Workshop(ours, nodes)
    seats = {node: Seat(node, "", shop) for node in nodes}
    seats[99] = Seat(99, "odd one", Workshop(module, {99: examples}))
    engine = over_loopback(ours, nodes, strict=False, seats=seats)
    with caplog.at_level("WARNING", "fedadp"):
        assert engine.nodes == tuple(sorted(nodes))
    assert why in caplog.text
    strict = over_loopback(ours, nodes, strict=True, seats=seats)
    with pytest.raises(DataError, match=why):
        strict.nodes  # noqa: B018


def test_two_nodes_cannot_be_the_same_number():
    module, nodes = nn.Linear(6, 2), toy_nodes()
    shop = Workshop(module, nodes)
    seats = {node: Seat(node, "", shop) for node in nodes}
    seats[99] = Seat(7, "impostor", shop)
    engine = over_loopback(module, nodes, strict=False, seats=seats)
    assert engine.nodes == tuple(sorted(nodes))
    assert engine._roster.members[7].flower == 1007


def test_thousands_of_rounds_leave_nothing_behind():
    module, nodes = nn.Linear(6, 2), dict(list(toy_nodes().items())[:2])
    engine = over_loopback(module, nodes, Faults(duplicate=0.5, delay=1))
    rounds(engine, 200, module)
    assert len(engine._grid._waiting) < 400
