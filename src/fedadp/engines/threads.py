"""Nodes side by side on all cores, one thread each."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor, nn

from fedadp.core import Cohort, Instructions
from fedadp.engines.inprocess import NodeData, Reply, Task, Workshop
from fedadp.errors import require
from fedadp.flat import Flat
from fedadp.local import Loss, cross_entropy
from fedadp.parallel import Crew, cores


class Threads:
    """Nodes side by side on all cores, one thread each: the same bits, sooner."""

    def __init__(
        self,
        module: nn.Module,
        data: NodeData,
        loss: Loss = cross_entropy,
        workers: int | None = None,
    ) -> None:
        require(workers is None or workers > 0, "workers", workers, "a number above 0")
        self.shop = Workshop(module, data, loss)
        self.nodes = self.shop.nodes
        self.workers = min(workers or cores(), len(self.nodes))
        self._crew = Crew(self.shop.tool, self.workers)

    def train(
        self, params: Tensor, buffers: Tensor, told: Instructions, nodes: Sequence[int]
    ) -> Cohort:
        task = Task(params, buffers, told)
        rows = self.shop.rows(task, nodes)

        def reply(tool: Flat, place: int) -> Reply:
            return self.shop.train(tool, task, nodes[place], rows[place])

        replies = self.shop.dice.settled(lambda: self._crew.map(reply, range(len(nodes))))
        return self.shop.cohort(told, nodes, rows, replies)
