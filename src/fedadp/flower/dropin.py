"""What a Flower app imports in place of Flower's FedAvg."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

from flwr.app import ArrayRecord
from flwr.serverapp import Grid
from flwr.serverapp.strategy import Result
from flwr.superlink.grid import HttpGrid

from fedadp.core import Strategy
from fedadp.flower.strategy import Lifted
from fedadp.strategies import FedAdp as Published
from fedadp.strategies import Robust
from fedadp.strategies.angles import Smoothing

log = logging.getLogger("fedadp")


class FedAdp(Lifted):
    """FedAdp in place of Flower's FedAvg: the same arguments, and four of its own.

    Robust mode is on where nodes are on machines of their own, and off in a simulation, unless
    `robust` says otherwise.

    >>> strategy = FedAdp(fraction_train=0.5, min_train_nodes=3, alpha=5.0)
    >>> strategy.strategy.alpha
    5.0
    """

    def __init__(
        self,
        *args: Any,
        alpha: float = 5.0,
        smoothing: Smoothing = "participations",
        robust: bool | None = None,
        checkpoint: str | Path | None = None,
        **options: Any,
    ) -> None:
        published: Strategy[Any] = Published(alpha=alpha, smoothing=smoothing)
        super().__init__(
            Robust(published) if robust else published, *args, checkpoint=checkpoint, **options
        )
        self._robust = robust

    def start(self, grid: Grid, initial_arrays: ArrayRecord, *args: Any, **options: Any) -> Result:
        if self._robust is None and isinstance(grid, HttpGrid):
            self._robust = True
            self.weigh_by(Robust(self.strategy))
            log.info("nodes are on machines of their own, so robust mode is on; robust=False: off")
        return super().start(grid, initial_arrays, *args, **options)


def lift(strategy: Strategy[Any], **options: Any) -> Lifted:
    """A strategy of fedadp as one of Flower's; options as for Flower's FedAvg.

    >>> from fedadp import FedAvg, Momentum
    >>> lift(Momentum(FedAvg()), min_train_nodes=3).strategy
    Momentum(inner=FedAvg(), beta=0.9)
    """
    return Lifted(strategy, **options)
