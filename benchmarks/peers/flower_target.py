"""Flower's FedAvg from the start of the process to a test accuracy."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np
import torch
import torch_models
from flower_client import BACKEND, client
from flwr.app import ArrayRecord, Context, MetricRecord
from flwr.serverapp import Grid, ServerApp
from flwr.serverapp.strategy import FedAvg
from flwr.simulation import run_simulation
from work import Answer, given


class ReachedError(Exception):
    """The model is good enough: there is no other way to end a simulation early."""


def main() -> None:
    work = given()
    answer = Answer(work.spec)
    folder = Path(work["inputs"])
    test_x, test_y = (
        torch.from_numpy(np.load(folder / f"{name}.npy", allow_pickle=False))
        for name in ("test_x", "test_y")
    )
    server = ServerApp()

    @server.main()
    def serve(grid: Grid, context: Context) -> None:
        module = torch_models.build(work["model"])
        torch_models.write(module, work.params)

        @torch.no_grad()
        def evaluate(done: int, arrays: ArrayRecord) -> MetricRecord | None:
            if done == 0:
                return None
            module.load_state_dict(arrays.to_torch_state_dict())
            pairs = zip(test_x.split(200), test_y.split(200), strict=True)
            right = sum(int((module(x).argmax(1) == y).sum()) for x, y in pairs)
            accuracy = right / len(test_y)
            if accuracy >= work["target"] or done == work["rounds"]:
                seconds = time.time() - work["begin"]
                answer.lap(seconds_from_start=seconds, rounds=done, accuracy=accuracy)
                answer.end()
                raise ReachedError
            return MetricRecord({"accuracy": accuracy})

        FedAvg(fraction_evaluate=0.0).start(
            grid=grid,
            initial_arrays=ArrayRecord(module.state_dict()),
            num_rounds=work["rounds"],
            evaluate_fn=evaluate,
        )

    try:
        run_simulation(server, client(sys.argv[1]), work["nodes"], backend_config=BACKEND)
    except ReachedError:
        return


main()
