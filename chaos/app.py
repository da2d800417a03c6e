"""The app that layer B deploys: one node sends NaN, and one dies while it trains."""

from __future__ import annotations

from pathlib import Path

from fedadp.deploy.init import write_app
from fedadp.deploy.place import Place

POISONER, DYING, DEADLY_ROUND = 2, 3, 2
CLIENT = f'''
"""Trains as it is told; but node {POISONER} sends NaN, and node {DYING} dies in a round."""

import os
from pathlib import Path

import numpy as np
from flwr.app import Array
from flwr.clientapp import ClientApp

from fedadp.flower import node_app

honest = node_app(Path(__file__).with_name("experiment.toml"))
app = ClientApp()


@app.query("hello")
def hello(message, context):
    return honest(message, context)


@app.train()
def train(message, context):
    me = context.node_config["partition-id"]
    if me == {DYING} and message.content.config_records["config"]["round"] == {DEADLY_ROUND}:
        os._exit(1)
    reply = honest(message, context)
    if me == {POISONER}:
        arrays = next(iter(reply.content.array_records.values()))
        for name, array in arrays.items():
            arrays[name] = Array(np.full_like(array.numpy(), np.nan))
    return reply
'''
EXPERIMENT = """
rounds = {rounds}
seed = {seed}
data = {{ name = "synthetic", shape = [20], examples = 2000, test = 500, separation = 3.0 }}
model = "mlr"
strategy = {{ name = "robust", inner = "fedadp" }}
training = {{ batch_size = 32, learning_rate = 0.02, decay = 0.995 }}
partition = {{ name = "dirichlet", nodes = {nodes}, beta = 1.0 }}

[engine]
name = "flower"

[engine.quorum]
min_nodes = {nodes}
min_replies = 2
timeout = 40.0
max_abandoned = 8
"""


def make(folder: Path, seed: int, nodes: int, rounds: int) -> Place:
    """A Flower app in this folder."""
    write_app(folder)
    (package,) = (path.parent for path in folder.glob("*/client.py"))
    (package / "client.py").write_text(CLIENT)
    (package / "experiment.toml").write_text(
        EXPERIMENT.format(seed=seed, nodes=nodes, rounds=rounds)
    )
    return Place(folder)
