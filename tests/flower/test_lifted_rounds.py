"""A lifted strategy, round by round: what it refuses, abandons, and remembers."""

import copy
import logging
import re

import numpy as np
import pytest
import torch
from flwr.app import Array, ArrayRecord, ConfigRecord

import fedadp
from fedadp.errors import QuorumError, RunError
from fedadp.flower import FedAdp, lift
from fedadp.quorum import Quorum
from fedadp.testing.loopback import Faults

from .federations import grid_of, reply, start, steps, weights

MOVES = [[3.0, 0.0], [2.0, 1.0], [-1.0, 2.0]]


@pytest.fixture(autouse=True)
def _quiet():
    logging.getLogger("flwr").setLevel(logging.ERROR)


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
