"""fedadp: geometry, FedAdp's weights and the weighted sum of updates in memory."""

from __future__ import annotations

import numpy as np
import torch
from updates import BLOCK, Memory, examples, matrix
from work import Answer, given_spec

from fedadp import Cohort, FedAdp


def main() -> None:
    spec = given_spec()
    answer = Answer(spec)
    rows, counts = matrix(spec["nodes"], spec["size"]), examples(spec["nodes"])
    strategy, updates = FedAdp(), torch.from_numpy(rows)
    for _ in range(spec["rounds"]):
        cohort = Cohort.of(range(spec["nodes"]), updates, counts)
        memory = Memory()
        answer.start()
        step = strategy.step(strategy.init(), cohort)
        answer.lap(extra_mb=memory.extra_mb())
        last = step, cohort.geometry()
        if _ < spec["rounds"] - 1:
            del step, last
    answer.say({"error_of_cosines": _cosines(rows, counts, last[1]), **_sum(rows, *last[:1])})
    answer.end()


def _cosines(rows, counts, geometry) -> float:
    """How far the cosines are from float64 NumPy's, taken block by block."""
    shares = np.array(counts) / sum(counts)
    squares, dots, length = np.zeros(len(rows)), np.zeros(len(rows)), 0.0
    step = max(BLOCK // len(rows), 1)
    for start in range(0, rows.shape[1], step):
        block = rows[:, start : start + step].astype(np.float64)
        mean = shares @ block
        squares += np.einsum("kc,kc->k", block, block)
        dots += block @ mean
        length += mean @ mean
    return float(np.abs(dots / np.sqrt(squares * length) - geometry.cosines.numpy()).max())


def _sum(rows, step) -> dict[str, float]:
    """How far the sum is from float64 NumPy's on a thousand columns."""
    columns = np.linspace(0, rows.shape[1] - 1, 1000).astype(int)
    exact = step.notes["weight"].double().numpy() @ rows[:, columns].astype(np.float64)
    return {"error_of_sum": float(np.abs(exact - step.delta.numpy()[columns]).max())}


main()
