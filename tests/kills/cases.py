"""What is run: every strategy, engine and kind of model, with all or some of the nodes."""

from dataclasses import replace
from itertools import product

from fedadp import (
    Experiment,
    FedAdp,
    FedAvg,
    FedProx,
    FedSGD,
    Model,
    Momentum,
    Robust,
    Runtime,
    Training,
    data,
)
from fedadp.strategies import STRATEGIES

CHOICES = {
    "fedavg": [FedAvg()],
    "fedadp": [FedAdp(), FedAdp(smoothing="rounds"), FedAdp(alpha=2.0, smoothing=0.3)],
    "fedprox": [FedProx(mu=0.1, inner=FedAdp())],
    "fedsgd": [FedSGD(FedAdp())],
    "momentum": [Momentum(FedAdp()), Momentum(Momentum(FedProx(inner=FedAdp())), beta=0.5)],
    "robust": [Robust(FedAdp()), Momentum(Robust(FedAdp(), weight_cap=0.4))],
}
assert CHOICES.keys() == STRATEGIES.keys(), "every strategy is killed"

BASE = Experiment(
    data=data.Synthetic(examples=200, test=40, shape=(6,), classes=2),
    partition=data.ClassSkew(iid=2, skewed=2, examples=20),
    training=Training(batch_size=5, learning_rate=0.05),
    rounds=6,
)
HARD = Model("fedadp.testing.toys:toy_model")  # BatchNorm and dropout


def cases():
    """Every strategy on every engine; with partial participation and a hard model in turn."""
    chosen = [strategy for some in CHOICES.values() for strategy in some]
    for i, (strategy, engine) in enumerate(product(chosen, ("sequential", "threads", "batched"))):
        training = replace(BASE.training, participation=3 if i % 2 else 1.0)
        model = HARD if i % 4 > 1 and engine != "batched" else Model("mlr")
        yield replace(
            BASE, strategy=strategy, engine=Runtime(engine), training=training, model=model
        )


SWEEP = """
rounds = 4
strategy = ["fedavg", "fedadp", {name = "momentum", inner = "fedadp"}]
model = "mlr"
data = {name = "synthetic", examples = 200, test = 40, shape = [6], classes = 2}
partition = {name = "paper", iid = 2, skewed = 2, examples = 20}
training = {batch_size = 5, participation = 3}
"""
