"""What a Flower node does, in the message API."""

from __future__ import annotations

import torch
import torch_models
import work as inputs
from flwr.app import ArrayRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp

BACKEND = {
    "client_resources": {"num_cpus": 1, "num_gpus": 0.0},
    "init_args": {"num_cpus": 2, "include_dashboard": False},
}


def client(spec: str) -> ClientApp:
    """A node of the workload in this spec; an actor reads its arrays once."""
    app = ClientApp()

    @app.train()
    def train(message: Message, context: Context) -> Message:
        torch.set_num_threads(1)
        work = inputs.load(spec)
        node = int(context.node_config["partition-id"])
        module = torch_models.build(work["model"])
        module.load_state_dict(message.content["arrays"].to_torch_state_dict())
        x, y = map(torch.from_numpy, work.node(node))
        done = int(message.content["config"]["server-round"]) - 1
        order = torch.from_numpy(work.order[done, node].astype("i8"))
        rate = work["rate"] * work["decay"] ** done
        torch_models.train(module, x, y, order, work["batch"], rate)
        arrays, metrics = ArrayRecord(module.state_dict()), MetricRecord({"num-examples": len(y)})
        return Message(RecordDict({"arrays": arrays, "metrics": metrics}), reply_to=message)

    return app
