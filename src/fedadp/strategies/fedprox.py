"""FedProx: Li et al., "Federated Optimization in Heterogeneous Networks", 2020."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from fedadp.core import Instructions, Strategy, Wrapping
from fedadp.errors import require
from fedadp.strategies.fedavg import FedAvg


@dataclass(frozen=True)
class FedProx(Wrapping[Any]):
    """Pull each node back to where it started from, with strength mu.

    >>> from fedadp import FedProx, Instructions
    >>> FedProx(mu=0.1).instruct(Instructions(round=1)).proximal
    0.1
    """

    mu: float = 0.01  # adds mu/2 |w - w(t-1)|^2 to each node's loss
    inner: Strategy[Any] = field(default_factory=FedAvg)

    def __post_init__(self) -> None:
        require(0 <= self.mu < float("inf"), "mu", self.mu, "a number from 0 up")

    def instruct(self, instructions: Instructions) -> Instructions:
        return replace(self.inner.instruct(instructions), proximal=self.mu)
