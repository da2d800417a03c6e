"""Partitions that deal the training set out in equal parts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from torch import Tensor

from fedadp.data.partitions.base import Partition, count_nodes, need, sorted_places
from fedadp.errors import require
from fedadp.randomness import numpy_generator


@dataclass(frozen=True)
class Iid(Partition):
    """Every node holds a random part of the training set, and no two the same example."""

    nodes: int = 10
    examples: int | None = None  # for each node; None: everything is dealt out

    def __post_init__(self) -> None:
        count_nodes(self.nodes)
        enough = self.examples is None or self.examples >= 1
        require(enough, "examples", self.examples, "a whole number from 1 up")

    def split(self, labels: Tensor, classes: int, seed: int) -> tuple[Tensor, ...]:  # noqa: ARG002
        wanted = self.nodes * (self.examples or 1)
        need(wanted, len(labels), f"iid with {self.nodes} nodes")
        order = numpy_generator(seed, "deal").permutation(len(labels))
        return sorted_places(np.array_split(order[: wanted if self.examples else None], self.nodes))


@dataclass(frozen=True)
class Shards(Partition):
    """Sort by label, cut into shards, give each node a few (McMahan et al., 2017)."""

    nodes: int = 10
    per_node: int = 2

    def __post_init__(self) -> None:
        count_nodes(self.nodes)
        require(self.per_node >= 1, "per_node", self.per_node, "a whole number from 1 up")

    def split(self, labels: Tensor, classes: int, seed: int) -> tuple[Tensor, ...]:  # noqa: ARG002
        count = self.nodes * self.per_node
        need(count, len(labels), f"shards with {self.nodes} nodes of {self.per_node}")
        order = numpy_generator(seed, "deal").permutation(len(labels))
        order = order[np.argsort(labels.numpy()[order], kind="stable")]
        shards = np.array_split(order, count)
        mine = numpy_generator(seed, "shards").permutation(count).reshape(self.nodes, -1)
        return sorted_places([np.concatenate([shards[s] for s in row]) for row in mine])

    @property
    def kind(self) -> str:
        return f"{self.per_node} shards"
