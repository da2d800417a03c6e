"""Who takes part: a script, an environment, and how it runs best on each kind of model."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Contestant:
    """A way to do a workload."""

    name: str
    script: str
    environment: str
    role: str  # "ours", "plain" or "peer"
    variant: dict[str, str] = field(default_factory=dict)  # by model
    batches: str = "same"  # as ours, or "own": shuffled by the peer itself
    models: tuple[str, ...] = ("cnn", "cnn-valid", "mlr")

    def variant_for(self, model: str) -> str:
        return self.variant.get(model, self.variant.get("any", ""))


def _ours(name: str, variant: str) -> Contestant:
    return Contestant(name, "ours", "fedadp", "ours", {"any": variant})


TRAINERS = (
    _ours("fedadp sequential", "Sequential"),
    _ours("fedadp threads", "Threads"),
    _ours("fedadp batched", "Batched"),
    _ours("fedadp auto", "Auto"),
    Contestant("plain", "plain", "plain", "plain"),
    Contestant("plain2", "plain2", "plain", "plain"),
    Contestant(
        "plain2, our model", "plain2", "plain", "plain", {"any": "our model"},
        models=("cnn", "cnn-valid"),
    ),
    Contestant("flower", "flower", "flower", "peer"),
    Contestant("blazefl", "blazefl", "blazefl", "peer", {"any": "threads", "mlr": "single"}),
    Contestant("pfl", "pfl", "pfl", "peer"),
    Contestant("fedlab", "fedlab", "fedlab", "peer"),
    Contestant("fedjax", "fedjax", "fedjax", "peer", {"any": "pmap", "mlr": "jit"}, "own"),
)  # fmt: skip

AGGREGATORS = (
    Contestant("fedadp", "ours_aggregate", "fedadp", "ours"),
    Contestant(
        "flower FedAvg, messages", "flower_aggregate", "flower", "peer", {"any": "messages"}
    ),
    Contestant("flower FedAvg, arrays", "flower_aggregate", "flower", "peer", {"any": "arrays"}),
)

RACERS = (
    Contestant("fedadp FedAdp", "ours_target", "fedadp", "ours", {"any": "FedAdp"}),
    Contestant("fedadp FedAvg", "ours_target", "fedadp", "ours", {"any": "FedAvg"}),
    Contestant("flower FedAvg", "flower_target", "flower", "peer"),
)

READER = Contestant("fedadp", "out_of_core", "fedadp", "ours")
