"""Our strategies as Flower's."""

import copy
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
from fedadp.errors import QuorumError, RunError, TrainingError
from fedadp.flower import FedAdp, Lifted, lift
from fedadp.quorum import Quorum
from fedadp.testing.loopback import Faults, Loopback

from .federations import grid_of, reply, start, steps, weights
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


@pytest.mark.parametrize(
    ("sent", "why"),
    [
        (lambda *_: reply([np.nan, 1.0]), "not finite"),
        (lambda *_: reply([1.0]), r"\[1\]"),
        (lambda *_: reply([1.0, 2.0], examples=-5), "'num-examples' is -5"),
        (lambda *_: reply([1.0, 2.0], examples=0), "'num-examples' is 0"),
        (lambda *_: reply([1.0, 2.0], examples=1.5), "'num-examples' is 1.5"),
        (lambda *_: reply([1.0, 2.0], examples=float("inf")), "'num-examples' is inf"),
        (lambda *_: reply([1.0, 2.0], examples=[1, 2]), "'num-examples'"),
        (lambda *_: reply([1.0, 2.0], loss=float("nan")), "its loss is nan"),
        (lambda _, c: type(c)({"arrays": c["arrays"]}), "0 records of metrics"),
        (lambda _, c: type(c)({"metrics": c["metrics"]}), "0 records of arrays"),
        (lambda _, c: type(c)({**c, "more": c["arrays"]}), "2 records of arrays"),
    ],
    ids=range(11),
)
def test_what_cannot_be_used_is_refused_and_leaves_no_trace(sent, why, caplog):
    honest = start(FedAdp(), grid_of(steps(MOVES[:2]), 2), rounds=3)
    grid = grid_of(steps(MOVES), 3, Faults(corrupt={102: sent}))
    with caplog.at_level("WARNING", "fedadp"):
        result = start(FedAdp(), grid, rounds=3)
    assert torch.equal(weights(result), weights(honest))
    assert "node 102: left out of this round" in caplog.text
    assert result.train_metrics_clientapp[3]["node"] == [100, 101]
    import re

    assert re.search(why, caplog.text)


def test_a_node_that_fails_keeps_its_history():
    broken = Faults()
    grid = grid_of(steps(MOVES), 3, broken)

    class Watching(FedAdp):
        def configure_train(self, server_round, arrays, config, grid):
            broken.corrupt = {102: lambda *_: reply([np.nan] * 2)} if server_round == 2 else {}
            return super().configure_train(server_round, arrays, config, grid)

    told = start(Watching(), grid, rounds=3).train_metrics_clientapp
    one, three = (told[n]["smoothed_angle"][2] for n in (1, 3))
    assert told[2]["node"] == [100, 101]
    assert three == pytest.approx((one + told[3]["angle"][2]) / 2)  # its second round, not third


def test_a_round_without_quorum_changes_nothing_and_three_end_the_run(caplog):
    faults = Faults(corrupt={101: lambda *_: reply([np.nan] * 2)})
    grid = grid_of(steps(MOVES), 3, faults)
    strategy = FedAdp(quorum=Quorum(min_replies=3, max_abandoned=3))

    class Mended(FedAdp):
        def configure_train(self, server_round, arrays, config, grid):
            if server_round == 3:
                faults.corrupt = {}
            return super().configure_train(server_round, arrays, config, grid)

    result = start(Mended(quorum=Quorum(min_replies=3)), grid, rounds=3)
    alone = start(FedAdp(), grid_of(steps(MOVES), 3), rounds=1)
    assert torch.equal(weights(result), weights(alone))
    told = result.train_metrics_clientapp
    assert told[3]["smoothed_angle"] == alone.train_metrics_clientapp[1]["smoothed_angle"]
    faults.corrupt = {101: lambda *_: reply([np.nan] * 2)}
    with pytest.raises(QuorumError, match="3 rounds in a row"):
        start(strategy, grid, rounds=9)


def test_over_selection_takes_the_first_and_asks_a_third_more():
    grid = grid_of(steps([[1.0, i / 10] for i in range(13)]), 13, Faults(delay=4, seed=1))
    strategy = FedAdp(min_train_nodes=10, fraction_train=0.1, quorum=Quorum(over_select=1.3))
    told = start(strategy, grid, rounds=1, timeout=5).train_metrics_clientapp[1]
    assert (len(told["node"]), grid.sent) == (10, 13 + 13)  # and all of them to evaluate


def test_it_goes_on_from_its_checkpoint_with_the_same_bits(tmp_path):
    grid, file = grid_of(steps(MOVES), 3), tmp_path / "deep" / "angles.safetensors"
    whole = start(FedAdp(), grid, rounds=6)
    start(FedAdp(checkpoint=file), grid, rounds=4)
    rest = start(FedAdp(checkpoint=file), grid, rounds=6)
    assert torch.equal(weights(whole), weights(rest))
    assert list(rest.train_metrics_clientapp) == [5, 6]
    assert rest.train_metrics_clientapp[6] == whole.train_metrics_clientapp[6]
    with pytest.raises(RunError, match="another experiment"):
        start(FedAdp(alpha=2.0, checkpoint=file), grid, rounds=6)


def test_it_can_be_used_twice():
    strategy, grid = FedAdp(), grid_of(steps(MOVES), 3)
    one, two = start(strategy, grid, rounds=3), start(strategy, grid, rounds=3)
    assert torch.equal(weights(one), weights(two))
    assert one.train_metrics_clientapp == two.train_metrics_clientapp


def test_examples_above_the_cap_count_as_the_cap():
    faults = Faults(corrupt={102: lambda *_: reply([-1.0, 2.0], examples=10**9)})
    grid = grid_of(steps(MOVES), 3, faults)
    capped = start(FedAdp(quorum=Quorum(most_examples=10)), grid, rounds=1)
    fair = start(FedAdp(), grid_of(steps(MOVES), 3), rounds=1)
    assert torch.equal(weights(capped), weights(fair))


def test_fedprox_tells_the_nodes_its_strength():
    strategy, grid = lift(fedadp.FedProx(mu=0.3)), grid_of(steps(MOVES), 3)
    arrays = ArrayRecord({"w": Array(np.zeros(2, dtype=np.float32))})
    (message, *_) = strategy.configure_train(1, arrays, ConfigRecord(), grid)
    assert message.content["config"]["proximal-mu"] == 0.3


def test_central_evaluation_begins_with_the_first_arrays():
    seen = []
    grid = grid_of(steps(MOVES), 3)
    start(FedAdp(), grid, rounds=2, evaluate_fn=lambda n, arrays: seen.append(n))
    assert seen == [0, 1, 2]


def test_the_numbers_of_flower_do_not_fit_into_a_signed_word():
    app = steps(MOVES)
    grid = copy.copy(grid_of(app, 3))
    grid._configs = {2**64 - 1 - i: {"partition-id": i} for i in range(3)}
    told = start(FedAdp(), grid, rounds=2).train_metrics_clientapp[2]
    assert set(told["node"]) == set(grid._configs)


def test_an_abandoned_round_is_not_done_again_after_a_crash(tmp_path):
    faults, file = Faults(), tmp_path / "angles.safetensors"
    grid, quorum = grid_of(steps(MOVES), 3, faults), Quorum(min_replies=3, max_abandoned=9)
    start(FedAdp(checkpoint=file, quorum=quorum), grid, rounds=2)
    faults.corrupt = {101: lambda *_: reply([np.nan] * 2)}
    start(FedAdp(checkpoint=file, quorum=quorum), grid, rounds=4)
    faults.corrupt = {}
    strategy = FedAdp(checkpoint=file, quorum=quorum)
    told = start(strategy, grid, rounds=5).train_metrics_clientapp
    assert list(told) == [5]
    assert (strategy.now.number, strategy.now.state.rounds) == (5, 3)
