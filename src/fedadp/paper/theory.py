"""Theorems 1 and 2, held against what softmax regression does on the paper's data.

Softmax regression is convex and its smoothness is known, so that each term of Theorem 1's bound
can be computed: nothing has to be assumed.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from fedadp.atomic import write_atomically
from fedadp.cohort import exact_sum
from fedadp.experiment import Experiment, load
from fedadp.federation import Federation, gather
from fedadp.flat import Flat
from fedadp.loop import Round, federate
from fedadp.strategies import FedAdp

Terms = dict[str, Any]  # by name, a number or None per round


@dataclass(frozen=True, eq=False)
class Objective:
    """F and the F_i of softmax regression over a federation, in float64."""

    nodes: Sequence[tuple[Tensor, Tensor]]  # inputs with a column of ones, and labels
    shares: Tensor
    classes: int

    @staticmethod
    def over(federation: Federation) -> Objective:
        parts = []
        for node in federation.nodes:
            x = federation.nodes[node].x.flatten(1).double()
            ones = torch.ones(len(x), 1, dtype=torch.float64)
            parts.append((torch.cat([x, ones], dim=1), federation.nodes[node].y))
        sizes = torch.tensor([len(y) for _, y in parts], dtype=torch.float64)
        return Objective(parts, sizes / sizes.sum(), federation.classes)

    def at(self, params: Tensor) -> tuple[float, Tensor]:
        """F, and the gradients of all F_i (N, P) with the weights before the biases."""
        inputs = self.nodes[0][0].shape[1] - 1
        weight, bias = torch.split(params.double(), [self.classes * inputs, self.classes])
        both = torch.cat([weight.view(self.classes, inputs), bias[:, None]], dim=1)
        losses, gradients = [], []
        for x, y in self.nodes:
            logits = torch.log_softmax(x @ both.T, dim=1)
            losses.append(-logits.gather(1, y[:, None]).mean())
            slope = logits.exp()
            slope[torch.arange(len(y)), y] -= 1
            own = slope.T @ x / len(y)
            gradients.append(torch.cat([own[:, :-1].reshape(-1), own[:, -1]]))
        return float(self.shares @ torch.stack(losses)), torch.stack(gradients)

    def smoothness(self) -> float:
        """A beta that holds for every F_i: half of the largest eigenvalue of its inputs' moments.

        The Hessian of softmax's cross-entropy in the logits is at most half the identity.
        """
        return max(float(torch.linalg.eigvalsh(x.T @ x / len(x))[-1]) / 2 for x, _ in self.nodes)


def check_theory(folder: Path, seeds: int) -> list[Path]:
    """The terms of both theorems, round by round, for each run of theory.toml."""
    written = []
    experiments = [one for one in load(folder / "theory.toml") if one.seed == 0]
    for experiment in (replace(one, seed=seed) for seed in range(seeds) for one in experiments):
        path = folder / "results" / "theory" / f"{experiment.slug}.json"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            text = json.dumps({"strategy": experiment.label, **observe(experiment)})
            write_atomically(path, text.encode() + b"\n")
        written.append(path)
    return written


def terms_of(folder: Path) -> list[Path]:
    """The files in which the terms of each run are kept."""
    return sorted((folder / "results" / "theory").glob("*.json"))


def observe(experiment: Experiment) -> Terms:
    """Run an experiment, and note every round's terms."""
    federation = gather(experiment.data, experiment.partition, experiment.seed)
    module = experiment.model.build(federation.shape, federation.classes, experiment.seed)
    objective, flat = Objective.over(federation), Flat(module)
    engine = experiment.engine.open(module, federation.nodes)
    beta, start = objective.smoothness(), Round(0, flat.read())
    going = federate(engine, experiment.strategy, start, experiment.training, seed=experiment.seed)
    rounds: list[dict[str, float]] = []
    before, (loss, gradients) = start, objective.at(start.params)
    for now in islice(going, experiment.rounds):
        after, next_gradients = objective.at(now.params)
        terms = _theorem_1(objective, gradients, now, beta, loss, after)
        terms |= _curvature(objective, gradients, before.params, now.params, loss, after)
        rounds.append(terms | _theorem_2(objective.shares, now))
        before, loss, gradients = now, after, next_gradients
    table = {name: [terms[name] for terms in rounds] for name in rounds[0]}
    return {"beta": beta, "beta_seen": max(table.pop("curvature")), **table}


def _theorem_1(
    objective: Objective, gradients: Tensor, now: Round, beta: float, loss: float, after: float
) -> dict[str, float]:
    """The measured decrease of F, and the one that equation 5 promises: `gain - beta * cost`."""
    whole = objective.shares @ gradients
    norms, norm = torch.linalg.vector_norm(gradients, dim=1), float(torch.linalg.norm(whole))
    cosines = gradients @ whole / (norms * norm)
    low, high = float(norms.min()) / norm, float(norms.max()) / norm  # A and B of Assumption 2
    rate, weights = now.notes["learning_rate"], now.notes["weight"]
    scale = rate * low**2 / high * norm**2
    gain, cost = scale * exact_sum(weights * cosines), scale * high * rate / 2
    return {
        "loss": loss, "decrease": loss - after, "promised": gain - beta * cost, "gain": gain,
        "cost": cost, "A": low, "B": high, "gradient": norm,
        "smallest_cosine": float(cosines.min()),
    }  # fmt: skip


def _curvature(
    objective: Objective, gradients: Tensor, old: Tensor, new: Tensor, loss: float, after: float
) -> dict[str, float]:
    """The beta that this round's step has seen."""
    step = new.double() - old.double()
    slope = float(objective.shares @ gradients @ step)
    return {"curvature": 2 * (after - loss - slope) / float(step @ step)}


def _theorem_2(shares: Tensor, now: Round) -> dict[str, float]:
    """The expectation in equation 5 under FedAvg's weights, and under FedAdp's by either angle."""
    angles, smoothed = now.notes["angle"], now.notes["smoothed_angle"]
    found = {"under_fedavg": exact_sum(shares * torch.cos(angles))}
    for name, seen in (("instantaneous", angles), ("smoothed", smoothed)):
        parts = shares * torch.exp(FedAdp().gain(seen))
        found[f"under_{name}"] = exact_sum(parts * torch.cos(angles)) / exact_sum(parts)
    return found
