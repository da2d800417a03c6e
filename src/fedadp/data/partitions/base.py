"""What a partition is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fedadp.errors import DataError, require
from fedadp.hints import Strict

Indices = NDArray[np.int64]
MOST_NODES = 1_000_000


@dataclass(frozen=True, eq=False)  # without fields, all would be equal
class Partition(Strict, ABC):
    """Says which examples of the training set each node holds."""

    @property
    @abstractmethod
    def nodes(self) -> int:
        """How many nodes there are."""

    @abstractmethod
    def split(self, labels: Tensor, classes: int, seed: int) -> tuple[Tensor, ...]:
        """Each node's examples, as sorted places in the training set."""

    @property
    def kind(self) -> str:
        """What the nodes are called where all are of one kind."""
        return "iid"

    def describe(self, classes: int, seed: int) -> tuple[str, ...]:  # noqa: ARG002  some depend
        """Each node's kind, such as "iid" or "1-class"."""
        return (self.kind,) * self.nodes


def count_nodes(nodes: int, field: str = "nodes", fewest: int = 1) -> None:
    """Complain about a number of nodes that no list of them fits into memory."""
    wanted = f"a whole number from {fewest} up, at most {MOST_NODES}"
    require(fewest <= nodes <= MOST_NODES, field, nodes, wanted)


def sorted_places(held: list[Any]) -> tuple[Tensor, ...]:
    return tuple(torch.from_numpy(np.sort(places).astype(np.int64)) for places in held)


def need(wanted: int, there: int, why: str) -> None:
    """Complain when the nodes need more examples than there are."""
    if wanted > there:
        raise DataError(
            f"partition.nodes: {why} needs {wanted} examples but there are {there}; "
            "ask for fewer nodes, or less for each"
        )
