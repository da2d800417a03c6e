"""Where an experiment runs: the engines by name."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import nn

from fedadp.engines import Batched, Sequential, Threads
from fedadp.engines.inprocess import NodeData
from fedadp.errors import SettingError, nearest, require
from fedadp.flat import Flat
from fedadp.hints import Strict
from fedadp.loop import Engine
from fedadp.models import SMALL, Model
from fedadp.quorum import Quorum

MOST_WORKERS = 1024
STAY = "'cpu', for copies of this model cannot be trained together"


class Flower:
    """Flower's simulation runtime, on Ray: the same bits, in processes (extra `flower`)."""


class Auto:
    """Batched for a small model, threads for a large one."""


ENGINES: dict[str, type[object]] = {
    "auto": Auto,
    "threads": Threads,
    "batched": Batched,
    "sequential": Sequential,
    "flower": Flower,
}


@dataclass(frozen=True)
class Runtime(Strict):
    """Which engine trains the nodes, and on how many cores."""

    name: str = "auto"
    workers: int | None = None  # None: all cores
    device: str = "cpu"  # or "cuda", for what trains in batches
    quorum: Quorum | None = None  # for 'flower': when a round counts

    def __post_init__(self) -> None:
        if self.name not in ENGINES:
            raise SettingError("name", f"unknown engine {self.name!r}{nearest(self.name, ENGINES)}")
        workers = self.workers
        possible = workers is None or 1 <= workers <= MOST_WORKERS
        require(possible, "workers", workers, f"a whole number above 0, at most {MOST_WORKERS}")
        if workers is not None and self.name == "sequential":
            raise SettingError("workers", "'sequential' has none; leave it out, or use 'threads'")
        if self.quorum is not None and self.name != "flower":
            raise SettingError("quorum", "only 'flower' has one; leave it out")
        if self.device != "cpu":
            known = self.name in ("auto", "batched")
            require(known, "device", self.device, "'cpu', for only 'batched' knows another")
            here = torch.cuda.is_available() and self.device.split(":")[0] == "cuda"
            require(here, "device", self.device, "'cpu', for PyTorch sees no such device here")

    def resolve(self, model: Model) -> Runtime:
        """The engine that `auto` stands for."""
        if self.name != "auto":
            return self
        together = model.small or self.device != "cpu"
        return replace(self, name="batched" if together else "threads")

    def open(self, module: nn.Module, data: NodeData) -> Engine:
        if self.name == "sequential":
            return Sequential(module, data)
        large = Flat(module).size > SMALL and self.device == "cpu"
        if self.name == "threads" or (self.name == "auto" and large):
            return Threads(module, data, workers=self.workers)
        engine = Batched(module, data, workers=self.workers, device=self.device)
        require(engine.stacks or self.device == "cpu", "engine.device", self.device, STAY)
        return engine
