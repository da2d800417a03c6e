"""The models as a PyTorch textbook has them, and their parameters as one vector."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn


def build(name: str) -> nn.Module:
    """ReLU after each convolution, then pooling: the same function and parameters as ours."""
    if name == "mlr":
        return nn.Sequential(nn.Flatten(), nn.Linear(784, 10))
    padding, side = (2, 7) if name == "cnn" else (0, 4)
    return nn.Sequential(
        nn.Conv2d(1, 32, 5, padding=padding),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 5, padding=padding),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(64 * side * side, 512),
        nn.ReLU(),
        nn.Linear(512, 10),
    )


@torch.no_grad()
def write(module: nn.Module, vector: Tensor | np.ndarray) -> None:
    """Set the parameters."""
    nn.utils.vector_to_parameters(torch.as_tensor(vector), module.parameters())
    for p in module.parameters():  # views of one vector no longer
        p.data = p.data.clone()


@torch.no_grad()
def read(module: nn.Module) -> Tensor:  # (P,)
    """The parameters, copied out."""
    return nn.utils.parameters_to_vector(module.parameters()).detach().clone()


def train(module: nn.Module, x: Tensor, y: Tensor, order: Tensor, batch: int, rate: float) -> None:
    """One epoch of minibatch SGD in this order."""
    optimizer = torch.optim.SGD(module.parameters(), lr=rate)
    module.train()
    for rows in order.split(batch):
        optimizer.zero_grad()
        nn.functional.cross_entropy(module(x[rows]), y[rows]).backward()
        optimizer.step()
