"""Our strategies as Flower's."""

import inspect
import logging

import numpy as np
import pytest
import torch
from flwr.app import Array, ArrayRecord, ConfigRecord, Message
from flwr.serverapp.strategy import FedAvg as Stock
from flwr.serverapp.strategy import Strategy
from flwr.superlink.grid import HttpGrid

import fedadp
from fedadp import Cohort
from fedadp.errors import TrainingError
from fedadp.flower import FedAdp, Lifted, lift
from fedadp.quorum import Quorum
from fedadp.testing.loopback import Faults, Loopback

from .federations import grid_of, start, steps, weights
from .quickstart import client_app, make_model

MOVES = [[3.0, 0.0], [2.0, 1.0], [-1.0, 2.0]]
NODES = {100 + i: {"partition-id": i} for i in range(3)}


@pytest.fixture(autouse=True)
def _quiet():
    logging.getLogger("flwr").setLevel(logging.ERROR)


def quickstart(strategy, rounds=3):
    grid = grid_of(client_app(), 6)
    arrays = ArrayRecord(make_model().state_dict())
    return strategy.start(grid=grid, initial_arrays=arrays, num_rounds=rounds, timeout=30)


def test_it_is_one_of_flowers_strategies():
    assert isinstance(FedAdp(), Strategy)


def test_it_takes_what_flowers_fedavg_takes():
    strategy = FedAdp(
        fraction_train=0.5, fraction_evaluate=0.0, min_train_nodes=3, min_evaluate_nodes=1,
        min_available_nodes=4, weighted_by_key="n", arrayrecord_key="a", configrecord_key="c",
        alpha=3.0, smoothing="rounds",
    )  # fmt: skip
    assert strategy.strategy == fedadp.FedAdp(alpha=3.0, smoothing="rounds")


def test_each_argument_of_flowers_fedavg_is_there_with_its_default():
    ours = inspect.signature(Lifted.__init__).parameters
    for name, theirs in inspect.signature(Stock.__init__).parameters.items():
        assert (ours[name].default, ours[name].kind) == (theirs.default, theirs.kind)
    order = [name for name in ours if name != "strategy"]
    assert order[: len(order) - 3] == list(inspect.signature(Stock.__init__).parameters)


def test_lifted_fedavg_is_flowers_fedavg():
    ours, theirs = quickstart(lift(fedadp.FedAvg())), quickstart(Stock())
    for name, array in theirs.arrays.items():
        if not name.endswith("num_batches_tracked"):
            assert np.allclose(ours.arrays[name].numpy(), array.numpy(), atol=1e-6), name
    for number, scores in theirs.evaluate_metrics_clientapp.items():
        ours_too = ours.evaluate_metrics_clientapp[number]
        assert ours_too["eval_acc"] == pytest.approx(scores["eval_acc"])


def test_counters_stay_whole_numbers():
    counter = quickstart(FedAdp()).arrays["1.num_batches_tracked"]
    assert (counter.dtype, int(counter.numpy())) == ("int64", 3)


def test_three_rounds_are_the_librarys_own_bit_for_bit():
    result = start(FedAdp(min_train_nodes=3), grid_of(steps(MOVES), 3), rounds=3)
    strategy, params = fedadp.FedAdp(), torch.zeros(2)
    state = strategy.init()
    for number in (1, 2, 3):
        reached = [params + torch.tensor(move) for move in MOVES]
        rows = torch.stack([place - params for place in reached])
        step = strategy.step(state, Cohort.of([100, 101, 102], rows, [10] * 3))
        params, state = params + step.delta, step.state
        told = result.train_metrics_clientapp[number]
        assert told["node"] == [100, 101, 102]
        assert told["weight"] == step.notes["weight"].tolist()
        assert told["angle"] == step.notes["angle"].tolist()
        assert told["smoothed_angle"] == step.notes["smoothed_angle"].tolist()
        assert told["norm"] == pytest.approx([3.0, 5**0.5, 5**0.5])
    assert torch.equal(weights(result), params)


def test_robust_mode_keeps_one_node_from_turning_the_model_round():
    moves = [[1.0, 0.1], [1.0, -0.1], [0.9, 0.2], [1.1, 0.0], [-20.0, 0.0]]
    ends = {
        robust: weights(start(FedAdp(robust=robust), grid_of(steps(moves), 5), rounds=2))
        for robust in (False, True)
    }
    assert ends[False][0] < -30
    assert ends[True][0] > 1.8


def test_robust_mode_is_on_where_nodes_are_on_machines_of_their_own():
    class Elsewhere(Loopback, HttpGrid):
        """As in a deployment."""

    def end(grid, **options):
        strategy = FedAdp(**options)
        return weights(start(strategy, grid(steps(MOVES), NODES), rounds=2)), strategy.strategy

    robust, plain = end(Loopback, robust=True), end(Loopback, robust=False)
    assert not torch.equal(robust[0], plain[0])
    assert torch.equal(end(Elsewhere)[0], robust[0])
    assert end(Elsewhere)[1] == fedadp.Robust(fedadp.FedAdp())
    assert torch.equal(end(Elsewhere, robust=False)[0], plain[0])
    assert torch.equal(end(Loopback)[0], plain[0])


def test_angles_are_those_of_the_trainable_part_alone():
    result = quickstart(FedAdp(), rounds=1)
    module = make_model()
    assert len(result.train_metrics_clientapp[1]["angle"]) == 6
    flat = sum(p.numel() for p in module.parameters())
    assert flat == 6 * 8 + 8 + 8 + 8 + 16 + 2


def test_replies_in_any_order_give_the_same_bits():
    straight = start(FedAdp(), grid_of(steps(MOVES), 3), rounds=8)
    late = start(FedAdp(), grid_of(steps(MOVES), 3, Faults(delay=5, seed=3)), rounds=8)
    assert torch.equal(weights(straight), weights(late))


def test_a_duplicate_counts_once():
    once = start(FedAdp(), grid_of(steps(MOVES), 3), rounds=4)
    twice = start(FedAdp(), grid_of(steps(MOVES), 3, Faults(duplicate=1.0)), rounds=4)
    assert torch.equal(weights(once), weights(twice))


def test_who_was_not_asked_does_not_count():
    strategy, grid = FedAdp(fraction_train=0.0, min_train_nodes=2), grid_of(steps(MOVES), 3)
    strategy.fraction_train = 0.5
    arrays = ArrayRecord({"w": Array(np.zeros(2, dtype=np.float32))})
    messages = list(strategy.configure_train(1, arrays, ConfigRecord(), grid))
    asked = {message.metadata.dst_node_id for message in messages}
    (stranger,) = {100, 101, 102} - asked
    grid.push_messages([Message(messages[0].content, stranger, "train"), *messages])
    replies = [message for _, message in grid._waiting]
    assert len(replies) == 3
    _, metrics = strategy.aggregate_train(1, replies)
    assert set(metrics["node"]) == asked


def test_a_reply_is_from_whom_was_asked_whatever_it_says_of_its_sender():
    class Posing(Loopback):
        def pull_messages(self, message_ids):
            for message in super().pull_messages(message_ids):
                if message.metadata.src_node_id == 102:
                    message.metadata.__dict__["_src_node_id"] = 101
                yield message

    posed = start(FedAdp(), Posing(steps(MOVES), NODES), rounds=2)
    honest = start(FedAdp(), grid_of(steps(MOVES), 3), rounds=2)
    assert posed.train_metrics_clientapp == honest.train_metrics_clientapp


def test_no_message_lives_longer_than_its_round():
    strategy, grid = FedAdp(quorum=Quorum(timeout=40)), grid_of(steps(MOVES), 3)
    arrays = ArrayRecord({"w": Array(np.zeros(2, dtype=np.float32))})
    for configure in (strategy.configure_train, strategy.configure_evaluate):
        for message in configure(1, arrays, ConfigRecord(), grid):
            assert message.metadata.ttl == 40


def test_a_model_per_node_is_held_once():
    seen = []

    class Watching(FedAdp):
        def aggregate_train(self, server_round, replies):
            replies = list(replies)
            seen.extend(list(message.content) for message in replies)
            return super().aggregate_train(server_round, replies)

    strategy = Watching()
    start(strategy, grid_of(steps(MOVES), 3), rounds=1)
    assert seen == [["metrics"]] * 3
    assert strategy._replies is None


def test_a_step_to_what_no_float_can_hold_ends_the_run_and_keeps_the_model():
    strategy = lift(fedadp.Momentum(fedadp.FedAvg()))
    with pytest.raises(TrainingError, match="the model of round 1 is kept"):
        start(strategy, grid_of(steps([[1.5e38, 0.0], [1.5e38, 1.0]]), 2), rounds=3)
    assert torch.isfinite(strategy.now.params).all()


def test_a_subclass_may_leave_replies_out():
    class Picky(FedAdp):
        def aggregate_train(self, server_round, replies):
            kept = [m for m in replies if m.metadata.src_node_id != 101]
            return super().aggregate_train(server_round, kept)

    result = start(Picky(), grid_of(steps(MOVES), 3), rounds=1)
    assert result.train_metrics_clientapp[1]["node"] == [100, 102]
