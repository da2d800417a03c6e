"""What a node does: minibatch SGD on any module, as instructed."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor, nn

from fedadp.core import Examples, Instructions
from fedadp.errors import TrainingError, reason
from fedadp.flat import Flat
from fedadp.randomness import node_keys, shuffles

Loss = Callable[[Tensor, Tensor], Tensor]
cross_entropy: Loss = nn.functional.cross_entropy


Bounds = tuple[tuple[int, int], ...]


@lru_cache(maxsize=1024)
def bounds(count: int, told: Instructions) -> Bounds:
    """Where each batch begins and ends; the last, smaller one of an epoch is kept."""
    size = told.batch_size or count
    per_epoch = -(-count // size)
    steps = told.steps if told.steps is not None else told.epochs * per_epoch
    starts = [(t // per_epoch) * count + (t % per_epoch) * size for t in range(steps)]
    return tuple((s, min(s + size, (s // count + 1) * count)) for s in starts)


def orders(count: int, told: Instructions, nodes: Sequence[int]) -> Tensor:  # (k, longest)
    """In which order nodes with this many examples learn from them: shuffled in each epoch."""
    epochs = -(-bounds(count, told)[-1][1] // count)
    keys = node_keys(told.seed, "batches", told.round, nodes)
    drawn = [shuffles(keys, count, epoch) for epoch in range(epochs)]
    return torch.from_numpy(drawn[0] if epochs == 1 else np.concatenate(drawn, axis=1))


class Descent:
    """SGD on the parameters of one node, or of many in a stack: decay, FedProx's pull, momentum.

    torch.optim would do, but loads PyTorch's compiler and takes a third longer for a small model.
    """

    def __init__(self, parameters: Sequence[Tensor], told: Instructions) -> None:
        self.parameters, self.told = parameters, told
        self._anchors = [p.detach().clone() for p in parameters] if told.proximal else None
        self._velocities = [torch.zeros_like(p) for p in parameters] if told.momentum else None

    def part(self, nodes: slice) -> Descent:
        """The same descent, for some of the nodes in a stack."""
        part = copy.copy(self)
        part.parameters = [p[nodes] for p in self.parameters]
        part._anchors = self._anchors and [anchor[nodes] for anchor in self._anchors]
        part._velocities = self._velocities and [v[nodes] for v in self._velocities]
        return part

    @torch.no_grad()
    def step(self, gradients: Sequence[Tensor | None]) -> None:
        told = self.told
        for i, (p, g) in enumerate(zip(self.parameters, gradients, strict=True)):
            if g is None:  # a part of the model that this batch did not use
                continue
            if told.weight_decay:
                g = g.add(p, alpha=told.weight_decay)
            if self._anchors is not None:
                g = g.add(p - self._anchors[i], alpha=told.proximal)
            if self._velocities is not None:
                g = self._velocities[i].mul_(told.momentum).add_(g)
            p.add_(g, alpha=-told.learning_rate)  # eq. 3


def train(flat: Flat, examples: Examples, told: Instructions, node: int, loss: Loss) -> float:
    """Train the module where its parameters lie; the mean loss over the batches comes back."""
    (order,) = orders(len(examples), told, [node])
    descent = Descent(flat.parameters, told)
    flat.module.train()
    total = torch.zeros((), dtype=torch.float64)
    seen, step = 0, 1
    try:
        for start, stop in bounds(len(examples), told):
            batch = order[start:stop]
            x, y = flat.cast(examples.x[batch]), examples.y[batch]
            value = loss(flat.module(x), y)
            descent.step(torch.autograd.grad(value, flat.parameters, allow_unused=True))
            total += value.detach() * len(y)
            seen += len(y)
            step += 1
    except (Exception, SystemExit) as error:
        where = f"node {node}, round {told.round}, step {step}"
        raise TrainingError(f"{where}: training failed ({reason(error)})") from error
    return float(total) / max(seen, 1)
