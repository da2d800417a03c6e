"""fedadp: geometry, FedAdp's weights and the weighted sum of updates in memory."""

from __future__ import annotations

import torch
from updates import Memory, errors, examples, matrix
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
    step, geometry = last
    found = (geometry.cosines.numpy(), step.notes["weight"].numpy(), step.delta.numpy())
    answer.say(errors(lambda start, stop: rows[:, start:stop], spec["size"], counts, *found))
    answer.end()


main()
