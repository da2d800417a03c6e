"""A grid on which things go wrong: what goes wrong is known beforehand, and none of it counts."""

import io
import itertools
from collections import Counter

import numpy as np
import pytest
import torch
from flwr.app import ArrayRecord, Message, RecordDict

from fedadp.errors import UpdateError
from fedadp.flower import FedAdp
from fedadp.flower.exchange import exchange
from fedadp.flower.replies import Replies
from fedadp.flower.schema import Schema
from fedadp.testing.faults import Faults
from fedadp.testing.garbage import GARBAGE, unpickled
from fedadp.testing.toys import toy_model

from .federations import grid_of, reply, start, steps, weights

MOVES = [[3.0, 0.0], [2.0, 1.0], [-1.0, 2.0]]


def asked(nodes, number=1):
    content = RecordDict({"arrays": reply([0.0, 0.0])["arrays"]})
    return [Message(content, 100 + i, "train", group_id=str(number)) for i in range(nodes)]


def collected(grid, messages, seconds=5.0):
    found = []
    exchange(grid, messages, seconds, lambda node, message: bool(found.append((node, message))))
    return found


def test_faults_come_as_often_as_they_were_asked_for():
    faults = Faults(drop=0.08, late=0.05, vanish=0.02, garbage=0.05, duplicate=0.02, seed=5)
    fates = [faults.fate("train", number, node) for number in range(200) for node in range(50)]
    found = Counter(fate.trouble for fate in fates)
    assert found["dropped"] / 10_000 == pytest.approx(0.08, abs=0.01)
    assert found["late"] / 10_000 == pytest.approx(0.05, abs=0.01)
    assert found["vanished"] / 10_000 == pytest.approx(0.02, abs=0.005)
    assert sum(found[kind] for kind in GARBAGE) / 10_000 == pytest.approx(0.05, abs=0.01)
    assert all(found[kind] for kind in GARBAGE)
    assert sum(fate.repeated for fate in fates) / 10_000 == pytest.approx(0.02, abs=0.005)


def test_what_came_before_changes_no_fate():
    faults = Faults(drop=0.5, seed=1)
    once = [faults.fate("train", 7, node) for node in range(30)]
    for node in range(100):
        faults.fate("train", 6, node)
    assert [faults.fate("train", 7, node) for node in range(30)] == once
    assert [Faults(drop=0.5, seed=2).fate("train", 7, node) for node in range(30)] != once


def test_a_node_that_churns_is_away_for_spells_and_comes_back():
    faults = Faults(churn=0.2, spell=10)
    away = [[faults.offline(number, node) for number in range(1000)] for node in range(20)]
    assert 0.15 < np.mean(away) < 0.25
    for row in away:
        turns = sum(one != two for one, two in itertools.pairwise(row))
        assert 2 <= turns <= 1000 / 10


def test_waiting_for_what_never_comes_costs_no_time():
    grid = grid_of(steps(MOVES), 3, Faults(drop=1.0))
    assert collected(grid, asked(3), seconds=3600.0) == []
    assert grid.clock.monotonic() >= 3600
    assert grid.happened["dropped"] == 3


def test_a_late_reply_comes_when_nobody_waits_for_it():
    faults = Faults(late=1.0)
    grid = grid_of(steps(MOVES), 3, faults)
    assert collected(grid, asked(3)) == []
    faults.late = 0.0
    ids = grid.push_messages(asked(3, number=2))
    came = [message.metadata.reply_to_message_id for message in grid.pull_messages(ids)]
    assert len(came) == 6
    assert came[3:] == ids
    assert len(collected(grid, asked(3, number=3))) == 3


def test_a_node_that_vanishes_is_told_by_the_superlink():
    grid = grid_of(steps(MOVES), 3, Faults(vanish=1.0))
    found = collected(grid, asked(3))
    assert [node for node, _ in found] == [100, 101, 102]
    assert all(message.error.code == 5 for _, message in found)


def test_a_reply_that_nobody_fetches_is_forgotten():
    grid = grid_of(steps(MOVES), 3, Faults(duplicate=1.0))
    for number in range(300):
        assert len(collected(grid, asked(3, number))) == 3
    assert len(grid._waiting) < 3 * 250


@pytest.mark.parametrize("kind", GARBAGE)
def test_garbage_is_refused_by_the_gate(kind):
    module = toy_model()
    content = RecordDict({**reply([0.0]), "arrays": ArrayRecord(module.state_dict())})
    grid_of(steps(MOVES), 1)  # messages are made while there is a grid
    message = Message(GARBAGE[kind](content), 7, "train")
    replies = Replies(Schema.of_module(module), 1)
    assert not replies.take(7, message)
    assert set(replies.refused) == {7}
    assert not replies.good
    assert unpickled == []


def test_pickled_objects_are_a_trap_for_whoever_loads_them():
    sent = GARBAGE["pickled objects"](reply([1.0] * 500))["arrays"]["w"]
    np.load(io.BytesIO(sent.data), allow_pickle=True)
    assert unpickled.pop() == "a reply was unpickled"
    with pytest.raises(UpdateError, match="not what its head says"):
        Schema.of_arrays(reply([1.0] * 500)["arrays"]).read({"w": sent}, torch.empty(500))


def test_all_faults_at_once_change_who_counts_and_nothing_else():
    faults = Faults(drop=0.1, late=0.1, vanish=0.1, garbage=0.2, duplicate=0.2, delay=3, seed=2)
    grid = grid_of(steps([[1.0, i / 10] for i in range(13)]), 13, faults)
    result = start(FedAdp(min_train_nodes=13), grid, rounds=20)
    for number, told in result.train_metrics_clientapp.items():
        good = [100 + i for i in range(13) if faults.fate("train", number, 100 + i).arrives]
        assert told["node"] == good
    again = start(FedAdp(min_train_nodes=13), grid_of(grid._app, 13, faults), rounds=20)
    assert torch.equal(weights(result), weights(again))
