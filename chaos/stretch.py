"""One stretch of a run, in a process of its own: to its end, or until it is killed."""

from __future__ import annotations

import json
import logging
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import torch
from flwr.app import Message
from torch import Tensor, nn

from chaos.ledger import Ledger
from chaos.weather import FIRST_ID, Crash, experiment, faults
from fedadp.core import Cohort, Instructions
from fedadp.drive import Stage, run
from fedadp.engines.inprocess import Workshop
from fedadp.federation import gather
from fedadp.flower.engine import OverGrid
from fedadp.flower.node import Seat, client_app
from fedadp.flower.roster import Expected, Roster
from fedadp.flower.schema import Schema
from fedadp.loop import Engine
from fedadp.testing.loopback import Loopback

PAGE_KB = os.sysconf("SC_PAGE_SIZE") / 1024


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class Observed:
    """An engine whose books are checked before each round."""

    def __init__(self, engine: OverGrid, grid: Loopback, ledger: Ledger, stretch: Stretch) -> None:
        self._engine, self._grid, self._ledger, self._stretch = engine, grid, ledger, stretch

    @property
    def nodes(self) -> tuple[int, ...]:
        self._grid.round = self._stretch.done + 1
        return self._engine.nodes

    def train(
        self, params: Tensor, buffers: Tensor, told: Instructions, nodes: Sequence[int]
    ) -> Cohort:
        self._stretch.begins(told.round)
        self._ledger.begins(told.round, tuple(nodes))
        return self._engine.train(params, buffers, told, nodes)


class Stretch:
    """From where the folder left off."""

    def __init__(self, folder: Path, seed: int, rounds: int, crash: Crash | None) -> None:
        self.folder, self.crash = folder, crash
        self.experiment, self.faults = experiment(seed, rounds), faults(seed)
        quorum = self.experiment.engine.quorum
        assert quorum is not None
        self.quorum = quorum
        self.ledger = Ledger(self.faults, quorum, folder)
        self.begun = folder.with_suffix(".begun")
        self.done = self._kept()
        self.memory: list[tuple[int, float]] = []  # round, kB

    def carry_out(self) -> dict[str, Any]:
        self._replace_fsync()
        federation = gather(self.experiment.data, self.experiment.partition, self.experiment.seed)
        grids: list[Loopback] = []

        @contextmanager
        def opened(module: nn.Module) -> Iterator[Engine]:
            shop = Workshop(module, federation.nodes)
            shop.tool = cache(shop.tool)  # type: ignore[method-assign]  # one copy for all messages
            app = client_app(lambda c, _: Seat(int(str(c.node_config["partition-id"])), "", shop))
            nodes = {FIRST_ID + node: {"partition-id": node} for node in federation.nodes}
            grids.append(grid := Loopback(self._fragile(app), nodes, self.faults))
            schema = Schema.of_module(module)
            expected = Expected(schema.fingerprint, federation.shape, federation.classes)
            keep = self.folder / "roster.json"
            grid.round = self.done + 1
            roster = Roster(grid, expected, strict=False, seconds=5, keep=keep)
            roster.wait(2, 60)
            engine = OverGrid(grid, roster, schema, self.quorum)
            yield Observed(engine, grid, self.ledger, self)

        stage = Stage(federation, opened, pause=0.0)
        found = run(self.experiment, self.folder, stage=stage, watch=self.ends)
        return {
            "rounds": found.rounds,
            "accuracy": found.curve("accuracy")[1][-1],
            "faults": dict(sorted(grids[0].happened.items())) if grids else {},
            "messages": sum(grid.sent for grid in grids),
            **self.ledger.counts,
            "attackers' largest weight": round(self.ledger.attack, 4),
            "memory": self.memory,
        }

    def begins(self, number: int) -> None:
        self.begun.write_text(str(number))
        self._dies(number, "before a round")

    def ends(self, record: dict[str, Any]) -> None:
        self.done = record["round"]
        self.ledger.ends(record)
        self._dies(self.done, "behind the metrics")
        if self.done % 10 == 0:
            pages = int(Path("/proc/self/statm").read_text().split()[1])
            self.memory.append((self.done, pages * PAGE_KB))

    def _fragile(self, app: Callable[..., Message]) -> Any:
        """The nodes' app; the fifth of a round's replies may be the last thing that happens."""

        def answer(message: Message, context: Any) -> Message:
            if context.node_config["partition-id"] == 5:
                self._dies(self.done + 1, "in a reply")
            return app(message, context)

        return answer

    def _replace_fsync(self) -> None:
        """Killed where a checkpoint is written, but has not got its name yet."""
        plain = os.fsync

        def fsync(file: int) -> None:
            if "checkpoint" in str(Path(f"/proc/self/fd/{file}").readlink()):
                self._dies(self.done, "in the checkpoint")
            plain(file)

        os.fsync = fsync

    def _dies(self, number: int, moment: str) -> None:
        if self.crash is not None and number >= self.crash.round and moment == self.crash.moment:
            die()

    def _kept(self) -> int:
        file = self.folder / "metrics.jsonl"
        checkpoint = self.folder / "checkpoint.safetensors"
        if not checkpoint.exists():
            return 0
        from fedadp.checkpoint import read_head

        return min(int(read_head(checkpoint)["number"]), len(file.read_bytes().splitlines()))


def main() -> None:
    told = json.loads(sys.argv[1])
    logging.getLogger("fedadp").setLevel(logging.ERROR)
    logging.getLogger("flwr").setLevel(logging.ERROR)
    torch.set_num_threads(1)
    crash = Crash(**told["crash"]) if told["crash"] else None
    stretch = Stretch(Path(told["folder"]), told["seed"], told["rounds"], crash)
    print(json.dumps(stretch.carry_out()))


if __name__ == "__main__":
    main()
