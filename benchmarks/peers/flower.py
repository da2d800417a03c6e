"""Flower's simulation on Ray: one actor per core, one thread each."""

from __future__ import annotations

import sys

import torch_models
from flower_client import BACKEND, client
from flwr.app import ArrayRecord, Context
from flwr.serverapp import Grid, ServerApp
from flwr.serverapp.strategy import FedAvg
from flwr.simulation import run_simulation
from work import Answer, given


def main() -> None:
    work = given()
    answer = Answer(work.spec)

    class Timed(FedAvg):
        def aggregate_train(self, server_round, replies):
            result = super().aggregate_train(server_round, replies)
            answer.lap()
            return result

    server = ServerApp()

    @server.main()
    def serve(grid: Grid, context: Context) -> None:
        module = torch_models.build(work["model"])
        torch_models.write(module, work.params)
        start = ArrayRecord(module.state_dict())
        answer.start()
        strategy = Timed(fraction_evaluate=0.0)
        result = strategy.start(grid=grid, initial_arrays=start, num_rounds=work["rounds"])
        module.load_state_dict(result.arrays.to_torch_state_dict())
        answer.end(torch_models.read(module))

    run_simulation(server, client(sys.argv[1]), work["nodes"], backend_config=BACKEND)


main()
