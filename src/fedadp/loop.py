"""The one loop, written once above every engine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import torch
from torch import Tensor

from fedadp.cohort import exact_sum
from fedadp.core import Cohort, Instructions, Strategy
from fedadp.errors import AbandonedError, DivergedError, TrainingError
from fedadp.parallel import one_thread
from fedadp.promises import finite, first_state, instructed, stepped
from fedadp.training import Training


class Engine(Protocol):
    """A runtime: it has nodes, and can let some of them train.

    One that holds more than memory has a `close`, too.
    """

    @property
    def nodes(self) -> tuple[int, ...]:
        """Who can be asked now."""
        ...

    def train(
        self, params: Tensor, buffers: Tensor, told: Instructions, nodes: Sequence[int]
    ) -> Cohort:
        """The nodes' updates; perhaps fewer than were asked. Valid until it trains again."""
        ...


@dataclass(frozen=True, eq=False)
class Round:
    """What stands after a round, and all that the next one needs."""

    number: int
    params: Tensor  # (P,)
    buffers: Tensor = field(default_factory=lambda: torch.zeros(0, dtype=torch.float64))  # (Q,)
    state: Any = None
    nodes: tuple[int, ...] = ()
    notes: Mapping[str, Any] = field(default_factory=dict)


def federate(
    engine: Engine,
    strategy: Strategy[Any],
    start: Round,
    training: Training | None = None,
    *,
    seed: int = 0,
) -> Iterator[Round]:
    """Rounds without end: stop with `break`, go on from any round by handing it back as `start`.

    >>> import torch
    >>> from fedadp import Examples, FedAdp, Round, Training, engines, federate
    >>> def node(slope):
    ...     return Examples(torch.ones(4, 1), torch.full((4, 1), slope))
    >>> line, loss = torch.nn.Linear(1, 1, bias=False), torch.nn.functional.mse_loss
    >>> engine = engines.Sequential(line, {3: node(1.0), 5: node(2.0)}, loss)
    >>> start, training = Round(0, torch.zeros(1)), Training(learning_rate=0.25)
    >>> for now in federate(engine, FedAdp(), start, training):
    ...     if now.number == 3:
    ...         break
    >>> round(now.params.item(), 3), now.nodes
    (1.511, (3, 5))
    """
    training = training or Training()
    now = start
    state = first_state(strategy) if start.state is None else start.state
    while True:
        number = now.number + 1
        told = instructed(strategy, training.at(number, seed))
        asked = training.sample(engine.nodes, number, seed)
        try:
            cohort = engine.train(now.params, now.buffers, told, asked)
        except AbandonedError as error:  # it cost a round, and changed nothing else
            said = {"abandoned": str(error), "refused": error.refused}
            now = replace(now, number=number, nodes=(), notes=said)
        else:
            with one_thread():  # waking others for K numbers takes longer than a small round
                now = _concluded(now, strategy, state, cohort, told)
            state = now.state
        yield now


def _concluded(
    before: Round, strategy: Strategy[Any], state: Any, cohort: Cohort, told: Instructions
) -> Round:
    """What stands after the strategy's step."""
    number = before.number + 1
    if cohort.round != number:
        raise TrainingError(
            f"round {number}: the engine brought updates that began in round {cohort.round}; "
            "an update counts only in its own round"
        )
    try:
        delta, state, notes = stepped(strategy, state, cohort)
    except DivergedError as error:
        raise DivergedError(error.message, number, told.learning_rate) from None
    params, buffers = before.params + delta, strategy.statistics(cohort)
    if not finite(params):
        what = f"round {number}: the step led to parameters that are not finite"
        raise DivergedError(what, number, told.learning_rate)
    notes = {**notes, **diagnose(cohort, told), **_own_angles(notes, cohort)}
    return Round(number, params, buffers, state, cohort.nodes, notes)


def _own_angles(notes: Mapping[str, Any], cohort: Cohort) -> dict[str, Tensor]:
    """The angles a strategy weighed by, where it has some: it may see updates as shorter."""
    angle = notes.get("angle")
    if isinstance(angle, Tensor) and angle.shape == (len(cohort),):
        return {"angle": angle}
    return {}


def diagnose(cohort: Cohort, told: Instructions) -> dict[str, Any]:
    """What the paper watches in every round, whatever the strategy."""
    geometry = cohort.geometry()
    smallest, largest = geometry.dissimilarity  # A and B of Assumption 2
    notes: dict[str, Any] = {
        "learning_rate": told.learning_rate,
        "norm": geometry.norms,
        "angle": geometry.angles,
        "gradient": geometry.mean_norm / told.learning_rate,  # |grad F|
        "divergence": exact_sum(geometry.distances) / len(cohort) / told.learning_rate,  # V-D
        "A": smallest,
        "B": largest,
        "refused": dict(cohort.refused),
    }
    if "loss" in cohort.notes:
        notes["training_loss"] = exact_sum(cohort.shares * cohort.notes["loss"])
    return notes
