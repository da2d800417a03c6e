"""Flower's simulation runtime, in a thread of its own, and the grid into it."""

from __future__ import annotations

import logging
import os
import threading
import time
import uuid
from functools import partial
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

from flwr.app import Context
from flwr.serverapp import Grid, ServerApp
from torch import nn

from fedadp.errors import RunError, reason
from fedadp.federation import Federation
from fedadp.flower.engine import OverGrid
from fedadp.flower.node import client_app
from fedadp.flower.roster import Expected, Roster
from fedadp.flower.schema import Schema
from fedadp.flower.seats import virtual_seat
from fedadp.parallel import cores
from fedadp.quorum import Quorum

if TYPE_CHECKING:
    from flwr.clientapp import ClientApp

    from fedadp.experiment import Experiment

log = logging.getLogger("fedadp")
QUIET = {
    "FLWR_TELEMETRY_ENABLED": "0",
    "FLWR_DISABLE_UPDATE_CHECK": "1",
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    # by its name for other systems: else Ray's servers listen on every interface, to anybody
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
}


def simulate(experiment: Experiment, module: nn.Module, federation: Federation) -> OverGrid:
    """An engine that trains an experiment's nodes in Flower's simulation, on Ray."""
    runtime, nodes = experiment.engine, len(federation.nodes)
    seat = partial(virtual_seat, uuid.uuid4().hex, experiment)
    simulation = Simulation(client_app(seat), nodes, runtime.workers or cores())
    schema = Schema.of_module(module)
    expected = Expected(schema.fingerprint, federation.shape, federation.classes)
    quorum = runtime.quorum or Quorum()
    try:
        roster = Roster(simulation.grid, expected, strict=True, seconds=quorum.timeout)
        roster.wait(nodes, quorum.timeout)
        return OverGrid(
            simulation.grid, roster, schema, quorum, strict=True, close=simulation.close
        )
    except BaseException:
        simulation.close()
        raise


class Simulation:
    """Virtual nodes that live until `close`."""

    def __init__(self, app: ClientApp, nodes: int, workers: int) -> None:
        for name, value in QUIET.items():
            os.environ.setdefault(name, value)
        logging.getLogger("flwr").setLevel(logging.ERROR)
        log.info("starting Flower's simulation of %d nodes; Ray takes a while", nodes)
        self._over = threading.Event()
        self._error: BaseException | None = None
        self._first: SimpleQueue[Grid | BaseException] = SimpleQueue()
        self._thread = threading.Thread(
            target=self._run, args=(app, nodes, workers), name="fedadp-flower", daemon=True
        )
        self._thread.start()
        first = self._first.get()
        if isinstance(first, BaseException):
            raise RunError(
                f"engine: Flower's simulation did not start ({reason(first)})"
            ) from first
        self.grid: Grid = first
        self.grid.__dict__["clock"] = self  # whoever waits for nodes is told if they are gone

    def monotonic(self) -> float:
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """As long as the nodes live."""
        if not self._thread.is_alive():
            why = reason(self._error) if self._error else "it ended"
            raise RunError(f"engine: Flower's simulation does not run any more ({why})")
        time.sleep(seconds)

    def close(self) -> None:
        """End the virtual nodes and Ray."""
        self._over.set()
        self._thread.join()

    def _run(self, app: ClientApp, nodes: int, workers: int) -> None:
        from flwr.simulation import run_simulation

        server = ServerApp()

        @server.main()
        def main(grid: Grid, _: Context) -> None:
            self._first.put(grid)
            self._over.wait()

        backend: Any = {
            "client_resources": {"num_cpus": 1, "num_gpus": 0.0},
            "init_args": {"num_cpus": workers, "include_dashboard": False, "log_to_driver": False},
        }
        try:
            run_simulation(server, app, nodes, backend_config=backend)
        except BaseException as error:  # noqa: BLE001  told where the grid is waited for
            self._error = error
            self._first.put(error)
