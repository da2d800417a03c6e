"""Partitions whose proportions follow a Dirichlet distribution."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from torch import Tensor

from fedadp.data.partitions.base import Indices, Partition, count_nodes, need, sorted_places
from fedadp.errors import DataError, require
from fedadp.randomness import numpy_generator

DRAWS = 1000


@dataclass(frozen=True)
class Dirichlet(Partition):
    """Each class is dealt out in random proportions: the smaller beta, the more uneven."""

    nodes: int = 10
    beta: float = 0.5
    minimum: int = 1  # examples that every node gets

    def __post_init__(self) -> None:
        _check(self.nodes, self.beta, self.minimum)

    def split(self, labels: Tensor, classes: int, seed: int) -> tuple[Tensor, ...]:
        label = labels.numpy()
        pools = [np.flatnonzero(label == one) for one in range(classes)]
        return _deal(pools, self.nodes, self.beta, self.minimum, seed)

    @property
    def kind(self) -> str:
        return f"Dir({self.beta:g})"


@dataclass(frozen=True)
class Quantity(Partition):
    """Nodes hold random parts of random size: the smaller beta, the more uneven."""

    nodes: int = 10
    beta: float = 0.5
    minimum: int = 1  # examples that every node gets

    def __post_init__(self) -> None:
        _check(self.nodes, self.beta, self.minimum)

    def split(self, labels: Tensor, classes: int, seed: int) -> tuple[Tensor, ...]:  # noqa: ARG002
        return _deal([np.arange(len(labels))], self.nodes, self.beta, self.minimum, seed)


def _check(nodes: int, beta: float, minimum: int) -> None:
    count_nodes(nodes)
    require(0.001 <= beta <= 1e6, "beta", beta, "a number from 0.001 to 1000000")
    require(minimum >= 0, "minimum", minimum, "a whole number from 0 up")


def _deal(
    pools: list[Indices], nodes: int, beta: float, minimum: int, seed: int
) -> tuple[Tensor, ...]:
    """Cut each pool at proportions drawn anew until every node has its minimum."""
    sizes = np.array([len(pool) for pool in pools])
    need(nodes * minimum, int(sizes.sum()), f"{nodes} nodes with a minimum of {minimum}")
    for attempt in range(DRAWS):
        rng = numpy_generator(seed, "proportions", attempt)
        shares = rng.dirichlet(np.full(nodes, beta), size=len(pools))  # (pools, nodes)
        edges = np.cumsum(shares, axis=1)[:, :-1].clip(0, 1)
        cuts = np.rint(edges * sizes[:, None]).astype(np.int64)
        bounds = np.hstack([np.zeros((len(pools), 1), np.int64), cuts, sizes[:, None]])
        if np.diff(bounds, axis=1).sum(axis=0).min() >= minimum:
            break
    else:
        raise DataError(
            f"partition.minimum: none of {DRAWS} draws gave each of {nodes} nodes {minimum} "
            "examples; raise beta, or ask for fewer nodes or a smaller minimum"
        )
    held: list[list[Indices]] = [[] for _ in range(nodes)]
    for number, (pool, cut) in enumerate(zip(pools, cuts, strict=True)):
        order = pool[numpy_generator(seed, "deal", number).permutation(len(pool))]
        for node, part in enumerate(np.split(order, cut)):
            held[node].append(part)
    return sorted_places([np.concatenate(parts) for parts in held])
