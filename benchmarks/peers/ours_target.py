"""fedadp from an experiment to its target, as `fedadp run` does it."""

from __future__ import annotations

import tempfile
import time

from work import Answer, given_spec

from fedadp import Experiment, FedAdp, FedAvg, Model, Training, run
from fedadp.data import ClassSkew, Mnist


def main() -> None:
    spec = given_spec()
    answer = Answer(spec)
    experiment = Experiment(
        data=Mnist(),
        partition=ClassSkew(iid=5, skewed=5, classes=1, examples=600),
        model=Model(spec["model"]),
        training=Training(
            batch_size=spec["batch"], learning_rate=spec["rate"], decay=spec["decay"]
        ),
        strategy=FedAdp() if spec["variant"] == "FedAdp" else FedAvg(),
        rounds=spec["rounds"],
        target=spec["target"],
    )
    with tempfile.TemporaryDirectory() as folder:
        found = run(experiment, folder, watch=lambda record: last.update(record))
        answer.lap(
            seconds_from_start=time.time() - spec["begin"],
            rounds=found.rounds,
            accuracy=last["accuracy"],
        )
    answer.end()


last: dict[str, float] = {}
main()
