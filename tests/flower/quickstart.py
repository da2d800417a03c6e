"""A Flower app in the shape of Flower's own quickstart, on a federation of toys or of MNIST."""

import torch
from flwr.app import ArrayRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp import Grid, ServerApp
from torch import nn

from fedadp.testing.toys import toy_nodes


def make_model():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 2))


def client_app(nodes=None, model=make_model):
    app, nodes = ClientApp(), nodes or list(toy_nodes().values())

    @app.train()
    def train(msg: Message, context: Context):
        net = model()
        net.load_state_dict(msg.content["arrays"].to_torch_state_dict())
        examples = nodes[context.node_config["partition-id"]]
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        loss = nn.functional.cross_entropy(net(examples.x), examples.y)
        loss.backward()
        optimizer.step()
        metrics = {"train_loss": loss.item(), "num-examples": len(examples)}
        content = {"arrays": ArrayRecord(net.state_dict()), "metrics": MetricRecord(metrics)}
        return Message(content=RecordDict(content), reply_to=msg)

    @app.evaluate()
    def evaluate(msg: Message, context: Context):
        net = model()
        net.load_state_dict(msg.content["arrays"].to_torch_state_dict())
        examples = nodes[context.node_config["partition-id"]]
        with torch.no_grad():
            right = (net.eval()(examples.x).argmax(1) == examples.y).float().mean().item()
        metrics = MetricRecord({"eval_acc": right, "num-examples": len(examples)})
        return Message(content=RecordDict({"metrics": metrics}), reply_to=msg)

    return app


def server_app(strategy, found, rounds=3):
    app = ServerApp()

    @app.main()
    def main(grid: Grid, context: Context) -> None:
        arrays = ArrayRecord(make_model().state_dict())
        found.append(strategy.start(grid=grid, initial_arrays=arrays, num_rounds=rounds))

    return app
