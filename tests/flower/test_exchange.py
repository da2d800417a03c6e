"""Replies that Flower itself cannot put together cost nobody else anything."""

import logging

import httpx
import pytest

from fedadp.flower import FedAdp
from fedadp.testing.loopback import Loopback

from .federations import start, steps

MOVES = [[3.0, 0.0], [2.0, 1.0], [-1.0, 2.0]]
NODES = {100 + i: {"partition-id": i} for i in range(3)}


class Breaking(Loopback):
    """Fails for all that is fetched together, where one reply cannot be put together."""

    broken = 101
    error = TypeError("Invalid arguments for Array")

    def pull_messages(self, message_ids):
        found = []
        for message in super().pull_messages(message_ids):
            if message.metadata.src_node_id == self.broken:
                raise self.error
            found.append(message)
        return found


def test_a_reply_that_cannot_be_put_together_is_its_nodes_failure_alone(caplog):
    grid, strategy = Breaking(steps(MOVES), NODES), FedAdp(fraction_evaluate=0.0)
    with caplog.at_level(logging.WARNING, "fedadp"):
        told = start(strategy, grid, rounds=3).train_metrics_clientapp
    assert "node 101: left out of this round; it failed: its reply cannot" in caplog.text
    assert 1 not in told  # whatever was fetched together with it is lost, once
    assert [told[number]["node"] for number in (2, 3)] == [[100, 102]] * 2
    assert strategy._apart == {101}


def test_an_error_of_the_connection_is_nobodys_reply():
    grid = Breaking(steps(MOVES), NODES)
    grid.error = httpx.ConnectError("no route")
    with pytest.raises(httpx.ConnectError):
        start(FedAdp(), grid, rounds=1)
