"""What engines in one process share: rows to train in, and the check at the boundary."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn

from fedadp.core import Cohort, Examples, Instructions
from fedadp.errors import ModelError, TrainingError
from fedadp.flat import Flat
from fedadp.local import Loss, cross_entropy, train
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
        self.data, self.loss = data, loss
        self.nodes = tuple(sorted(data))
        self._module = copy.deepcopy(module)
        self.random = _try_out(self._module, data[self.nodes[0]], loss)
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
        with self._dice(task.told, node):
            loss = train(tool, examples, task.told, node, self.loss)
        row -= task.params
        return Reply(loss, tool.read_buffers(), len(examples), fault(loss, row))

    def cohort(
        self, told: Instructions, nodes: Sequence[int], rows: Tensor, replies: list[Reply]
    ) -> Cohort:
        """Who replied with something usable; the others are named, and left out."""
        refused = {n: r.refused for n, r in zip(nodes, replies, strict=True) if r.refused}
        kept = [i for i, reply in enumerate(replies) if not reply.refused]
        if not kept:
            node, why = next(iter(refused.items()))
            raise TrainingError(
                f"round {told.round}: no node's update can be used (node {node}: {why}); "
                f"a learning rate below {told.learning_rate:g} may help"
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

    def _dice(self, told: Instructions, node: int) -> AbstractContextManager[None]:
        """PyTorch has one generator per process; a model that draws from it gets it seeded."""
        if not self.random:
            return nullcontext()
        return _seeded(address(told.seed, "forward", told.round, node))


@contextmanager
def _seeded(seed: int) -> Iterator[None]:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        yield


def fault(loss: float, update: Tensor) -> str:
    if not math.isfinite(loss):
        return f"its loss is {loss}"
    return "" if torch.isfinite(update).all() else "its update is not finite"


def _try_out(module: nn.Module, examples: Examples, loss: Loss) -> bool:
    """Whether the model draws random numbers; complains if it cannot take the data."""
    few = slice(0, 2)
    with _seeded(0):
        before = torch.get_rng_state()
        try:
            loss(copy.deepcopy(module).train()(examples.x[few]), examples.y[few])
        except (RuntimeError, ValueError, TypeError, IndexError) as error:
            shape = tuple(examples.x.shape[1:])
            raise ModelError(
                f"model: it cannot learn from inputs of shape {shape} with labels up to "
                f"{int(examples.y.max())} ({error}); its input and output must fit the data"
            ) from error
        return not torch.equal(before, torch.get_rng_state())
