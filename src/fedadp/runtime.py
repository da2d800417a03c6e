"""Where an experiment runs: the engines by name."""

from __future__ import annotations

from dataclasses import dataclass

from torch import nn

from fedadp.engines import Sequential, Threads
from fedadp.engines.inprocess import NodeData
from fedadp.errors import SettingError, nearest, require
from fedadp.loop import Engine

ENGINES: dict[str, type[Sequential] | type[Threads]] = {
    "threads": Threads,
    "sequential": Sequential,
}


@dataclass(frozen=True)
class Runtime:
    """Which engine trains the nodes, and on how many cores."""

    name: str = "threads"
    workers: int | None = None  # None: all cores

    def __post_init__(self) -> None:
        if self.name not in ENGINES:
            raise SettingError("name", f"unknown engine {self.name!r}{nearest(self.name, ENGINES)}")
        workers = self.workers
        require(workers is None or workers >= 1, "workers", workers, "a whole number above 0")
        if workers is not None and self.name == "sequential":
            raise SettingError(
                "workers", "'sequential' has no workers; leave it out, or use 'threads'"
            )

    def open(self, module: nn.Module, data: NodeData) -> Engine:
        if self.name == "sequential":
            return Sequential(module, data)
        return Threads(module, data, workers=self.workers)
