"""What goes wrong in one process: faults, attackers, and when the process itself is killed."""

from __future__ import annotations

from dataclasses import dataclass

from flwr.app import Array, ArrayRecord, RecordDict

from fedadp import Experiment, FedAdp, Model, Robust, Training
from fedadp.data import PARTITIONS, Synthetic
from fedadp.quorum import Quorum
from fedadp.randomness import numpy_generator
from fedadp.runtime import Runtime
from fedadp.testing.faults import Faults

NODES = 20
FIRST_ID = 1000  # Flower's ids are other than the nodes' numbers
ATTACKERS = (4, 11)  # nodes that send the opposite of what they learnt, ten times as long
MOMENTS = ("in a reply", "behind the metrics", "in the checkpoint", "before a round")


@dataclass(frozen=True)
class Crash:
    """A SIGKILL in this round, at this moment."""

    round: int
    moment: str


def experiment(seed: int, rounds: int) -> Experiment:
    """Small enough for thousands of rounds; twenty nodes, each with a mixture of classes."""
    return Experiment(
        data=Synthetic(examples=800, test=100, shape=(6,), classes=4, seed=seed),
        partition=PARTITIONS["dirichlet"](nodes=NODES, beta=1.0),
        model=Model("mlr"),
        training=Training(learning_rate=0.05, decay=0.9995, batch_size=0),
        strategy=Robust(FedAdp()),
        engine=Runtime(name="flower", quorum=Quorum(min_replies=0.6, timeout=5, max_abandoned=50)),
        rounds=rounds,
        evaluate_every=20,
        seed=seed,
    )


def faults(seed: int) -> Faults:
    return Faults(
        drop=0.08, late=0.05, garbage=0.05, duplicate=0.02, churn=0.05, delay=3, seed=seed,
        corrupt={FIRST_ID + node: turned_round for node in ATTACKERS},
    )  # fmt: skip


def turned_round(_: int, content: RecordDict) -> RecordDict:
    """An update times minus ten; whoever says who he is says so."""
    for arrays in content.array_records.values():
        turned = {name: Array(-10 * array.numpy()) for name, array in arrays.items()}
        return RecordDict({**content, "arrays": ArrayRecord(turned)})
    return content


def crashes(seed: int, rounds: int, every: int) -> list[Crash]:
    """One in every so many rounds, at each moment in turn."""
    found = []
    for i, begin in enumerate(range(every, rounds, every)):
        number = begin + int(numpy_generator(seed, "crash", i).integers(-every // 4, every // 4))
        found.append(Crash(number, MOMENTS[i % len(MOMENTS)]))
    return found
