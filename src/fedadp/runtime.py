"""Where an experiment runs: the engines by name."""

from __future__ import annotations

from dataclasses import dataclass, replace

from torch import nn

from fedadp.engines import Batched, Sequential, Threads
from fedadp.engines.inprocess import NodeData
from fedadp.errors import SettingError, nearest, require
from fedadp.loop import Engine
from fedadp.models import Model


class Auto:
    """Batched for a small model, threads for a large one."""


ENGINES: dict[str, type[object]] = {
    "auto": Auto,
    "threads": Threads,
    "batched": Batched,
    "sequential": Sequential,
}


@dataclass(frozen=True)
class Runtime:
    """Which engine trains the nodes, and on how many cores."""

    name: str = "auto"
    workers: int | None = None  # None: all cores

    def __post_init__(self) -> None:
        if self.name not in ENGINES:
            raise SettingError("name", f"unknown engine {self.name!r}{nearest(self.name, ENGINES)}")
        workers = self.workers
        require(workers is None or workers >= 1, "workers", workers, "a whole number above 0")
        if workers is not None and self.name == "sequential":
            raise SettingError("workers", "'sequential' has none; leave it out, or use 'threads'")

    def resolve(self, model: Model) -> Runtime:
        """The engine that `auto` stands for."""
        if self.name != "auto":
            return self
        return replace(self, name="batched" if model.small else "threads")

    def open(self, module: nn.Module, data: NodeData) -> Engine:
        if self.name == "sequential":
            return Sequential(module, data)
        kind = Batched if self.name == "batched" else Threads
        return kind(module, data, workers=self.workers)
