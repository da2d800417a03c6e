"""One node after the other: the plain reference that all other engines must agree with."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor, nn

from fedadp.core import Cohort, Instructions
from fedadp.engines.inprocess import NodeData, Reply, Task, Workshop
from fedadp.local import Loss, cross_entropy
from fedadp.parallel import one_thread


class Sequential:
    """One node after the other, on one core: the plain reference."""

    def __init__(self, module: nn.Module, data: NodeData, loss: Loss = cross_entropy) -> None:
        self._shop = Workshop(module, data, loss)
        self._tool = self._shop.tool()
        self.nodes = self._shop.nodes

    def train(
        self, params: Tensor, buffers: Tensor, told: Instructions, nodes: Sequence[int]
    ) -> Cohort:
        task = Task(params, buffers, told)
        rows = self._shop.rows(task, nodes)

        def attempt() -> list[Reply]:
            pairs = zip(nodes, rows, strict=True)
            return [self._shop.train(self._tool, task, node, row) for node, row in pairs]

        with one_thread():
            replies = self._shop.dice.settled(attempt)
        return self._shop.cohort(told, nodes, rows, replies)
