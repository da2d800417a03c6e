"""What engines in one process share: rows to train in, and the check at the boundary."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn

from fedadp.core import Cohort, Examples, Instructions
from fedadp.dice import Dice
from fedadp.errors import DataError, DivergedError, ModelError, reason
from fedadp.flat import Flat
from fedadp.local import Loss, cross_entropy, train
from fedadp.memory import keep_blocks
from fedadp.randomness import address

NodeData = Mapping[int, Examples]


class Reply(NamedTuple):
    """What a node sends back; its update is in its row."""

    loss: float
    buffers: Tensor  # (Q,)
    examples: int
    refused: str  # why it cannot be used; empty where it can


@dataclass(frozen=True, eq=False)
class Task:
    """One round's work, the same for every node."""

    params: Tensor  # (P,)
    buffers: Tensor  # (Q,)
    told: Instructions


class Workshop:
    """A model to copy, the nodes' data, and a matrix with one row per node of the round."""

    def __init__(self, module: nn.Module, data: NodeData, loss: Loss = cross_entropy) -> None:
        keep_blocks()
        self.data, self.loss = data, loss
        self.nodes = tuple(sorted(data))
        if not self.nodes:
            raise DataError("engine: there are no nodes; give at least one")
        for node in self.nodes:
            if len(data[node]) == 0:
                raise DataError(f"engine: node {node} has no examples; leave it out")
        self._module = copy.deepcopy(module)
        self.dice = Dice()
        self.dice.settled(lambda: _try_out(self._module, data[self.nodes[0]], loss))
        self._matrix = torch.zeros(0, 0)

    def tool(self) -> Flat:
        """A copy of the model, for one worker."""
        return Flat(copy.deepcopy(self._module))

    def rows(self, task: Task, nodes: Sequence[int]) -> Tensor:  # (K, P)
        """A row per node. The memory is used again in the next round."""
        size = task.params.numel()
        stride = -(-size // 16) * 16  # rows begin on cache lines, so all are computed alike
        if self._matrix.shape != (len(nodes), stride) or self._matrix.dtype != task.params.dtype:
            self._matrix = torch.empty(len(nodes), stride, dtype=task.params.dtype)
        return self._matrix[:, :size]

    def train(self, tool: Flat, task: Task, node: int, row: Tensor) -> Reply:
        """Let a node train in its row, and turn the row into its update."""
        row.copy_(task.params)
        tool.lay_over(row)
        tool.write_buffers(task.buffers)
        examples = self.data[node]
        with self.dice.at(address(task.told.seed, "forward", task.told.round, node)):
            loss = train(tool, examples, task.told, node, self.loss)
        row -= task.params
        buffers = tool.read_buffers()
        return Reply(loss, buffers, len(examples), fault(loss, row, float(row.sum()), buffers))

    def cohort(
        self, told: Instructions, nodes: Sequence[int], rows: Tensor, replies: list[Reply]
    ) -> Cohort:
        """Who replied with something usable; the others are named, and left out."""
        refused = {n: r.refused for n, r in zip(nodes, replies, strict=True) if r.refused}
        kept = [i for i, reply in enumerate(replies) if not reply.refused]
        if not kept:
            node, why = next(iter(refused.items()))
            raise DivergedError(
                f"round {told.round}: no node's update can be used (node {node}: {why})",
                told.round,
                told.learning_rate,
            )
        return Cohort.of(
            [nodes[i] for i in kept],
            rows if not refused else [rows[i] for i in kept],
            [replies[i].examples for i in kept],
            round=told.round,
            buffers=torch.stack([replies[i].buffers for i in kept]),
            notes={"loss": torch.tensor([replies[i].loss for i in kept], dtype=torch.float64)},
            refused=refused,
        )


def fault(loss: float, update: Tensor, total: float, buffers: Tensor) -> str:
    """What is wrong with a reply, if anything; `total` is the sum of its update."""
    if not math.isfinite(loss):
        return f"its loss is {loss}"
    # a finite sum has finite terms; one that is not may have overflowed, and is looked at closely
    if not math.isfinite(total) and not torch.isfinite(update).all():
        return "its update is not finite"
    if len(buffers) and not math.isfinite(float(buffers.sum())):
        return "its statistics are not finite"
    return ""


def _try_out(module: nn.Module, examples: Examples, loss: Loss) -> None:
    """Complain early about a model that cannot take the data."""
    flat = Flat(copy.deepcopy(module).train())
    x, y = examples.x[:2], examples.y[:2]
    try:
        if not loss(flat.module(flat.cast(x)), y).requires_grad:
            raise ValueError("no gradient comes from its loss")
    except (Exception, SystemExit) as error:  # anybody's model may raise anything
        raise ModelError(
            f"model: it cannot learn from {x.dtype} inputs of shape {tuple(x.shape[1:])} with "
            f"labels up to {int(y.max())} ({reason(error)}); its input and output must fit the data"
        ) from error
