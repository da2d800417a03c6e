"""Federations over a loopback grid, small enough for hundreds of rounds a second."""

import numpy as np
import torch
from flwr.app import Array, ArrayRecord, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp

from fedadp.engines.inprocess import Workshop
from fedadp.flower.engine import OverGrid
from fedadp.flower.node import Seat, client_app
from fedadp.flower.roster import Expected, Roster
from fedadp.flower.schema import Schema
from fedadp.quorum import Quorum
from fedadp.testing.loopback import Loopback


def over_loopback(module, data, faults=None, quorum=None, strict=True, seats=None):
    """An engine over a grid in this process; Flower's ids are not the nodes' numbers."""
    shop = Workshop(module, data)
    seats = seats or {node: Seat(node, "", shop) for node in data}
    app = client_app(lambda context, _: seats[context.node_config["partition-id"]])
    grid = Loopback(app, {1000 + node: {"partition-id": node} for node in seats}, faults)
    schema, quorum = Schema.of_module(module), quorum or Quorum(timeout=10)
    shape = tuple(next(iter(data.values())).x.shape[1:])
    expected = Expected(schema.fingerprint, shape, 100)
    roster = Roster(grid, expected, strict=strict, seconds=10)
    return OverGrid(grid, roster, schema, quorum, strict=strict)


def steps(moves, examples=10):
    """A ClientApp whose node i answers by adding `moves[i]` to the arrays it got."""
    app = ClientApp()

    @app.train()
    def train(message, context):
        move = np.asarray(moves[context.node_config["partition-id"]], dtype=np.float32)
        reached = message.content["arrays"]["w"].numpy() + move
        return Message(reply(reached, examples), reply_to=message)

    return app


def reply(values, examples=10, **metrics):
    """What Flower's quickstart sends."""
    arrays = ArrayRecord({"w": Array(np.asarray(values, dtype=np.float32))})
    told = MetricRecord({"num-examples": examples, **metrics})
    return RecordDict({"arrays": arrays, "metrics": told})


def grid_of(app, nodes, faults=None):
    return Loopback(app, {100 + i: {"partition-id": i} for i in range(nodes)}, faults)


def start(strategy, grid, rounds, size=2, **options):
    arrays = ArrayRecord({"w": Array(np.zeros(size, dtype=np.float32))})
    return strategy.start(grid, arrays, num_rounds=rounds, **{"timeout": 5, **options})


def weights(result):
    return torch.from_numpy(result.arrays["w"].numpy().copy())
