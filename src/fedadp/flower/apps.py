"""The two halves of a Flower app that runs an experiment: what its server.py and client.py need."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import torch
from flwr.app import Context
from flwr.clientapp import ClientApp
from flwr.serverapp import Grid, ServerApp
from torch import nn

from fedadp.core import Examples
from fedadp.drive import Stage, run
from fedadp.errors import SettingError
from fedadp.experiment import Experiment, load
from fedadp.federation import Federation, Held
from fedadp.flower.engine import OverGrid
from fedadp.flower.node import Seat, client_app
from fedadp.flower.roster import Expected, Roster
from fedadp.flower.schema import Schema
from fedadp.flower.seats import real_seat, virtual_seat
from fedadp.loop import Engine
from fedadp.quorum import Quorum
from fedadp.runs import Record, Run

log = logging.getLogger("fedadp")


def node_app(file: Path) -> ClientApp:
    """The ClientApp: a node learns from what its site.toml names, else from a part of the data."""

    def seat(context: Context, classes: int) -> Seat:
        experiment = _experiment(file, context)
        what = f"{file} {_changes(context)}"
        if "site" in context.node_config:
            return real_seat(what, experiment, context, classes)
        return virtual_seat(what, experiment, context, classes)

    return client_app(seat)


def server_app(file: Path) -> ServerApp:
    """The ServerApp: our loop and run folder above Flower's nodes.

    Its run config knows `set`, as in "rounds=5 training.learning_rate=0.1", and `out`, the folder
    to write to; a run that was cut off goes on from there, unless `restart` is true.
    """
    app = ServerApp()

    @app.main()
    def main(grid: Grid, context: Context) -> None:
        _speak()
        config = context.run_config
        experiment = _experiment(file, context)
        home = Path(os.environ.get("FEDADP_RUNS", "runs"))
        folder = Path(str(config.get("out") or home / experiment.slug))
        serve(grid, experiment, folder, restart=bool(config.get("restart", False)))

    return app


def serve(grid: Grid, experiment: Experiment, folder: Path, *, restart: bool = False) -> Run:
    """Run an experiment whose nodes are behind the grid; only the test examples are here."""
    dataset = experiment.data.load()
    test = Examples(dataset.prepare(dataset.test.x), dataset.test.y)
    nobody = Held(Examples(test.x[:0], test.y[:0]), [])
    counts = torch.zeros(0, dataset.classes, dtype=torch.int64)
    federation = Federation(nobody, test, dataset.classes, counts, ())
    quorum = experiment.engine.quorum or Quorum()

    @contextmanager
    def opened(module: nn.Module) -> Iterator[Engine]:
        schema = Schema.of_module(module)
        expected = Expected(schema.fingerprint, federation.shape, federation.classes)
        roster = Roster(
            grid, expected, strict=False, seconds=quorum.timeout, keep=folder / "roster.json"
        )
        roster.wait(quorum.min_nodes, quorum.timeout)
        yield OverGrid(grid, roster, schema, quorum)

    log.info("run folder: %s", folder.resolve())
    stage, watch = Stage(federation, opened, pause=0.0), _Told(experiment)
    return run(experiment, folder, restart=restart, stage=stage, watch=watch)


class _Told:
    """A line per round, for `flwr log`."""

    def __init__(self, experiment: Experiment) -> None:
        self._rounds = experiment.rounds

    def __call__(self, record: Record) -> None:
        if "abandoned" in record:
            said = "abandoned"
        else:
            accuracy = record.get("accuracy")
            score = "" if accuracy is None else f"accuracy {accuracy:.2%}, "
            refused = len(record.get("refused", {}))
            said = f"{score}{len(record['nodes'])} nodes replied, {refused} refused"
        log.info("round %d of %d: %s", record["round"], self._rounds, said)


def _experiment(file: Path, context: Context) -> Experiment:
    """What is run, with the changes that the run config tells."""
    return _read(file, *_changes(context))


def _changes(context: Context) -> list[str]:
    return str(context.run_config.get("set", "")).split()


@cache
def _read(file: Path, *changes: str) -> Experiment:
    experiment, *others = load(file, changes)
    if others:
        raise SettingError(
            file.name, f"holds {len(others) + 1} experiments; a Flower app runs one strategy, seed"
        )
    return experiment


def _speak() -> None:
    """Let our log be seen where Flower keeps a run's output."""
    if not log.handlers:
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter("%(asctime)s %(message)s", "%H:%M:%S"))
        log.addHandler(handler)
        log.setLevel(logging.INFO)
