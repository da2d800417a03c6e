"""Small federations to try things on."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import nn

from fedadp.cohort import Cohort
from fedadp.core import Examples
from fedadp.randomness import address, generator


def toy_cohort(nodes: Sequence[int], seed: int = 0, size: int = 300, scale: float = 1.0) -> Cohort:
    """Updates that agree in part, from nodes of different sizes."""
    common = torch.randn(size, generator=generator(seed, "common"))
    own = [torch.randn(size, generator=generator(seed, "own", node)) for node in nodes]
    updates = torch.stack(
        [scale * (common + (1 + node % 3) * noise) for node, noise in zip(nodes, own, strict=True)]
    )
    return Cohort.of(nodes, updates, [100 + 50 * (node % 4) for node in nodes])


def toy_nodes(
    sizes: Sequence[int] = (12, 7, 20, 6, 12, 14), features: int = 6
) -> dict[int, Examples]:
    """Nodes with ids 3, 5, 7, ... that hold different numbers of examples of two classes."""
    truth = torch.randn(features, generator=generator(0, "truth"))
    nodes = {}
    for i, size in enumerate(sizes):
        x = torch.randn(size, features, generator=generator(0, "x", i))
        nodes[3 + 2 * i] = Examples(x, (x @ truth > 0).long())
    return nodes


def toy_models(features: int = 6) -> list[nn.Module]:
    """A hard one, one whose copies can be trained together, and one whose gradient is known."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(address(0, "toy models"))
        layers = nn.Sequential(nn.Linear(features, 9), nn.Tanh(), nn.Linear(9, 2))
        return [toy_model(features), layers, nn.Linear(features, 2)]


def toy_model(features: int = 6) -> nn.Module:
    """A small network with BatchNorm and dropout, so with all that is hard about a model."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(address(0, "toy model"))
        return nn.Sequential(
            nn.Linear(features, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.2), nn.Linear(8, 2)
        )
