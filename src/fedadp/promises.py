"""What a strategy promised is checked where it answers, for anybody may have written it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from fedadp.core import Cohort, Instructions, Step, Strategy
from fedadp.errors import DivergedError, FedadpError, StrategyError, reason

HUGE = 1e-3  # of what a float can hold: sums of such updates may not fit into it


def first_state(strategy: Strategy[Any]) -> Any:
    """The state before the first round."""
    with _asking(strategy, "init"):
        return strategy.init()


def instructed(strategy: Strategy[Any], told: Instructions) -> Instructions:
    """What the nodes are told under this strategy."""
    with _asking(strategy, "instruct"):
        told = strategy.instruct(told)
        if not isinstance(told, Instructions):
            raise TypeError(f"it gave {told!r}; Instructions are needed")
    return told


def stepped(strategy: Strategy[Any], state: Any, cohort: Cohort) -> Step[Any]:
    """The step that this strategy makes of a round."""
    with _asking(strategy, "step"):
        found: Any = strategy.step(state, cohort)
        if not (isinstance(found, tuple) and len(found) == 3):
            raise TypeError(f"it gave a {type(found).__name__}; a Step is needed")
        _check_weights(found[2].get("weight"))
        delta, size = found[0], cohort.size
        if not isinstance(delta, Tensor) or delta.shape != (size,):
            shape = f"shape {tuple(delta.shape)}" if isinstance(delta, Tensor) else "no shape"
            raise ValueError(f"it gave a delta of {shape}; a tensor of shape ({size},) is needed")
        if not finite(delta):
            if float(cohort.geometry().norms.max()) < HUGE * torch.finfo(cohort.dtype).max:
                raise ValueError("its delta is not finite; no step of the model can be that")
            raise DivergedError(f"round {cohort.round}: the step is not finite", cohort.round)
    return Step(*found)


def _check_weights(weights: object) -> None:
    """Of a strategy that has some: Weighting notes them."""
    if isinstance(weights, Tensor):
        lowest, total = float(weights.min()), float(weights.sum())
        if not (lowest >= 0 and abs(total - 1) < 1e-6):
            raise ValueError(
                f"its weights begin at {lowest:g} and sum to {total:g}; all must be at least 0 "
                "and sum to 1"
            )


def finite(vector: Tensor) -> bool:
    """Whether all of it is finite: a finite sum has finite terms, one that is not may not."""
    return bool(torch.isfinite(vector.sum())) or bool(torch.isfinite(vector).all())


@contextmanager
def _asking(strategy: Strategy[Any], what: str) -> Iterator[None]:
    """Whatever it raises is one sentence, and says who raised it."""
    try:
        yield
    except FedadpError:
        raise
    except (Exception, SystemExit) as error:  # anybody's strategy may raise anything
        name = type(strategy).__name__
        raise StrategyError(
            f"strategy {name}: its {what} failed ({reason(error)}); check_strategy tries it out"
        ) from error
