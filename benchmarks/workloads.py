"""The workloads of the table, in full and in small."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from benchmarks.contestants import AGGREGATORS, RACERS, READER, TRAINERS, Contestant

MACS = {"cnn": (627_200, 11_645_952), "cnn-valid": (460_800, 3_806_208), "mlr": (7_840, 0)}


@dataclass(frozen=True)
class Entry:
    """One row of a workload's table: who, and what is different for this row."""

    label: str
    contestant: Contestant
    changes: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Workload:
    """What is measured side by side."""

    name: str
    title: str
    kind: str  # "train", "many", "aggregate", "target" or "out-of-core"
    spec: dict[str, Any]
    entries: tuple[Entry, ...]
    warmup: int = 1
    rounds: int = 3
    repetitions: int = 3
    small: dict[str, Any] | None = None  # what --quick changes; None: it leaves this out
    timeout: float = 1800.0

    def quick(self) -> Workload:
        """The same in small: one repetition, two rounds, less work."""
        rounds = self.rounds if self.kind == "target" else 2
        spec = {**self.spec, **(self.small or {})}
        return replace(self, spec=spec, rounds=rounds, repetitions=1, timeout=300.0)

    def flop(self) -> float:
        """Of a round's training: forward, both gradients, none for the images themselves."""
        first, others = MACS[self.spec["model"]]
        nodes = self.spec.get("participants", self.spec["nodes"])
        return 2.0 * (2 * first + 3 * others) * nodes * self.spec["each"]

    def bytes(self) -> float:
        """Of two reads of the updates."""
        return 2.0 * 4 * self.spec["nodes"] * self.spec["size"]


def _train(name: str, model: str, nodes: int, each: int, batch: int, small, **more) -> Workload:
    threads = 1 if model == "mlr" else 2
    spec = {
        "model": model, "nodes": nodes, "each": each, "batch": batch, "threads": threads,
        "rate": 0.01, "decay": 1.0,
    }  # fmt: skip
    entries = tuple(Entry(one.name, one) for one in TRAINERS if model in one.models)
    title = f"{model}, {nodes:,} nodes x {each}, batch {batch}"
    return Workload(name, title, "train", spec, entries, small=small, **more)


def _many(name: str, title: str, cases: tuple[tuple[int, int], ...], small) -> Workload:
    spec = {"model": "mlr", "each": 60, "batch": 10, "rate": 0.01, "strategy": "fedadp"}
    entries = tuple(
        Entry(
            f"{one.name}: {population:,} nodes, {participants:,} take part",
            one,
            {"nodes": population, "participants": participants},
        )
        for population, participants in cases
        for one in TRAINERS
        if one.name in ("fedadp threads", "fedadp auto")
    )
    return Workload(name, title, "many", spec, entries, small=small)


def _aggregate(name: str, nodes: int, size: int, small=None, **more) -> Workload:
    entries = tuple(Entry(one.name, one) for one in AGGREGATORS)
    title = f"K = {nodes:,} updates of P = {size:,}"
    spec = {"nodes": nodes, "size": size, "model": ""}
    return Workload(name, title, "aggregate", spec, entries, small=small, **more)


RACE = {
    "model": "cnn", "nodes": 10, "each": 600, "batch": 32, "rate": 0.01, "decay": 0.995,
    "target": 0.9,
}  # fmt: skip
CNN = {"each": 96}

WORKLOADS = (
    _train("cnn10", "cnn", 10, 600, 32, CNN),
    _train("cnn10-valid", "cnn-valid", 10, 600, 32, None),
    _train("mlr10", "mlr", 10, 600, 50, None, warmup=3, rounds=20),
    _train("mlr100", "mlr", 100, 60, 10, {}, warmup=2, rounds=10),
    _train("mlr1000", "mlr", 1000, 60, 10, None),
    _many("many", "MLR, 10,000 nodes x 60, batch 10", ((10_000, 100), (10_000, 10_000)), None),
    _many(
        "many-population", "MLR, 100 nodes x 60 take part, out of more and more",
        ((1_000, 100), (10_000, 100), (100_000, 100)), {},
    ),
    Workload(
        "round-to-target", "CNN on MNIST to 90 %, five nodes of all and five of one class",
        "target", RACE, tuple(Entry(one.name, one) for one in RACERS), warmup=0, rounds=300,
        repetitions=2, timeout=7200.0,
    ),
    _aggregate("aggregate-k10", 10, 1_663_370, {}, rounds=10),
    _aggregate("aggregate-k100", 100, 1_663_370, None, rounds=5),
    _aggregate("aggregate-p100m", 10, 100_000_000, None, rounds=2, repetitions=2),
    _aggregate("aggregate-k1000", 1_000, 7_850, {}, rounds=10),
    Workload(
        "out-of-core", "K = 10 updates in safetensors files", "out-of-core",
        {"nodes": 10, "size": 250_000_000, "model": ""}, (Entry("fedadp", READER),),
        warmup=0, rounds=1, repetitions=2, small={"size": 25_000_000},
    ),
)  # fmt: skip
