"""Each attack under each strategy: the accuracy that is left, and the attackers' weight."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fedadp import FedAdp, FedAvg, Robust, Strategy, Training, federate
from fedadp.data import ClassSkew, Mnist
from fedadp.engines import Batched
from fedadp.errors import DivergedError
from fedadp.evaluation import Evaluator
from fedadp.federation import gather
from fedadp.flat import Flat
from fedadp.loop import Round
from fedadp.models import Model
from security.attacks import ATTACKS, Attack, Attacked

ROUNDS, SEEDS, LAST = 30, 3, 5  # the weight is the mean over the last rounds
STRATEGIES: dict[str, Strategy[Any]] = {
    "fedavg": FedAvg(),
    "fedadp": FedAdp(),
    "robust(fedavg)": Robust(FedAvg()),
    "robust(fedadp)": Robust(FedAdp()),
    "robust(fedadp(smoothing=0.3))": Robust(FedAdp(smoothing=0.3)),
}
Say = Callable[[str], None]
Row = dict[str, tuple[float, float]]


def attacks(say: Say) -> dict[str, Row]:
    """By attack and strategy: median accuracy and weight over the seeds."""
    found: dict[str, Row] = {}
    for attack in ATTACKS:
        found[attack.name] = {}
        for name, strategy in STRATEGIES.items():
            runs = [_run(attack, strategy, seed) for seed in range(SEEDS)]
            accuracy, weight = np.median(np.array(runs), axis=0)
            found[attack.name][name] = (round(float(accuracy), 4), round(float(weight), 4))
        say(f"{attack.name}: {found[attack.name]}")
    return found


def _run(attack: Attack, strategy: Strategy[Any], seed: int) -> tuple[float, float]:
    federation = gather(Mnist(), ClassSkew(iid=5, skewed=5, classes=1, examples=600), seed)
    module = Model("mlr").build(federation.shape, federation.classes, seed)
    flat = Flat(module)
    engine = Attacked(Batched(module, federation.nodes), attack)
    start = Round(0, flat.read(), flat.read_buffers())
    training = Training(learning_rate=0.01, decay=0.995, batch_size=32)
    weights = []
    now = start
    try:
        for now in federate(engine, strategy, start, training, seed=seed):
            share = now.notes["weight"][: attack.attackers].sum()
            weights.append(float(share))
            if now.number == ROUNDS:
                break
    except DivergedError:
        pass  # the model before stands
    accuracy = Evaluator(module, federation.test, seed=seed)(now)["accuracy"]
    return accuracy, float(np.mean(weights[-LAST:]))
