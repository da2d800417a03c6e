"""What a node does: minibatch SGD on any module, as instructed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import torch
from torch import Tensor, nn

from fedadp.core import Examples, Instructions
from fedadp.errors import TrainingError
from fedadp.flat import Flat
from fedadp.randomness import generator

Loss = Callable[[Tensor, Tensor], Tensor]
cross_entropy: Loss = nn.functional.cross_entropy


def batches(
    examples: Examples, told: Instructions, draw: torch.Generator
) -> Iterator[tuple[Tensor, Tensor]]:
    """Shuffled anew in each epoch; the last, smaller batch of an epoch is kept."""
    size = told.batch_size or len(examples)
    per_epoch = -(-len(examples) // size)
    left = told.steps if told.steps is not None else told.epochs * per_epoch
    while left > 0:
        order = torch.randperm(len(examples), generator=draw)[: left * size]
        x, y = examples.x[order], examples.y[order]
        yield from zip(torch.split(x, size), torch.split(y, size), strict=True)
        left -= per_epoch


class Descent:
    """SGD on the parameters of one node: weight decay, FedProx's pull, momentum.

    torch.optim would do, but loads PyTorch's compiler and takes a third longer for a small model.
    """

    def __init__(self, parameters: Sequence[Tensor], told: Instructions) -> None:
        self._parameters, self._told = parameters, told
        self._anchors = [p.detach().clone() for p in parameters] if told.proximal else None
        self._velocities: list[Tensor | None] = [None] * len(parameters)

    @torch.no_grad()
    def step(self, gradients: Sequence[Tensor | None]) -> None:
        told = self._told
        for i, (p, g) in enumerate(zip(self._parameters, gradients, strict=True)):
            if g is None:  # a part of the model that this batch did not use
                continue
            if told.weight_decay:
                g = g.add(p, alpha=told.weight_decay)
            if self._anchors is not None:
                g = g.add(p - self._anchors[i], alpha=told.proximal)
            if told.momentum:
                before = self._velocities[i]
                g = g.clone() if before is None else before.mul_(told.momentum).add_(g)
                self._velocities[i] = g
            p.add_(g, alpha=-told.learning_rate)  # eq. 3


def train(flat: Flat, examples: Examples, told: Instructions, node: int, loss: Loss) -> float:
    """Train the module where its parameters lie; the mean loss over the batches comes back."""
    draw = generator(told.seed, "batches", told.round, node)
    descent = Descent(flat.parameters, told)
    flat.module.train()
    total = torch.zeros((), dtype=torch.float64)
    seen, step = 0, 1
    try:
        for x, y in batches(examples, told, draw):
            value = loss(flat.module(x), y)
            descent.step(torch.autograd.grad(value, flat.parameters, allow_unused=True))
            total += value.detach() * len(y)
            seen += len(y)
            step += 1
    except (RuntimeError, ValueError, TypeError, IndexError) as error:
        where = f"node {node}, round {told.round}, step {step}"
        raise TrainingError(f"{where}: training failed ({error})") from error
    return float(total) / max(seen, 1)
