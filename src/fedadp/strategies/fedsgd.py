"""FedSGD: McMahan et al., "Communication-Efficient Learning of Deep Networks", 2017."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from fedadp.core import Instructions, Strategy, Wrapping
from fedadp.strategies.fedavg import FedAvg


@dataclass(frozen=True)
class FedSGD(Wrapping[Any]):
    """Let each node take one step on all of its examples.

    >>> from fedadp import FedSGD, Instructions
    >>> told = FedSGD().instruct(Instructions(round=1, epochs=5))
    >>> told.steps, told.batch_size
    (1, None)
    """

    inner: Strategy[Any] = field(default_factory=FedAvg)

    def instruct(self, instructions: Instructions) -> Instructions:
        return replace(self.inner.instruct(instructions), steps=1, batch_size=None)
