"""A Flower / PyTorch app: what a node does."""

import torch
from flwr.app import ArrayRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from task import Net, load_data
from task import test as test_fn
from task import train as train_fn

app = ClientApp()


@app.train()
def train(msg: Message, context: Context):
    model = Net()
    model.load_state_dict(msg.content["arrays"].to_torch_state_dict())
    partition, partitions = (context.node_config[k] for k in ("partition-id", "num-partitions"))
    torch.manual_seed(int(partition))
    trainloader, _ = load_data(partition, partitions)
    loss = train_fn(model, trainloader, 1, msg.content["config"]["lr"])
    metrics = {"train_loss": loss, "num-examples": len(trainloader.dataset)}
    content = {"arrays": ArrayRecord(model.state_dict()), "metrics": MetricRecord(metrics)}
    return Message(content=RecordDict(content), reply_to=msg)


@app.evaluate()
def evaluate(msg: Message, context: Context):
    model = Net()
    model.load_state_dict(msg.content["arrays"].to_torch_state_dict())
    partition, partitions = (context.node_config[k] for k in ("partition-id", "num-partitions"))
    torch.manual_seed(int(partition))
    _, testloader = load_data(partition, partitions)
    loss, accuracy = test_fn(model, testloader)
    metrics = {"eval_loss": loss, "eval_acc": accuracy, "num-examples": len(testloader.dataset)}
    return Message(content=RecordDict({"metrics": MetricRecord(metrics)}), reply_to=msg)
