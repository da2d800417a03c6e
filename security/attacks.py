"""What attackers send instead of their updates; they know each other, and everybody's updates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from fedadp.core import Cohort, Instructions
from fedadp.engines import Batched
from fedadp.randomness import generator

Change = Callable[[Tensor, Sequence[int], int], None]  # rows (K, P), attackers' rows, round
QUIET = 15  # rounds in which a node that attacks later behaves


def _flip(factor: float) -> Change:
    def change(rows: Tensor, mine: Sequence[int], _: int) -> None:
        rows[mine] *= -factor

    return change


@dataclass(frozen=True)
class Attack:
    """What is told of it, who does it, and how."""

    name: str
    attackers: int  # of ten nodes, those that hold all classes first
    change: Change
    claims: float | None = None  # examples


def _random(factor: float) -> Change:
    """One direction, the same in all rounds and for all attackers."""

    def change(rows: Tensor, mine: Sequence[int], _: int) -> None:
        one = torch.randn(rows.shape[1], generator=generator(0, "an attacker's direction"))
        rows[mine] = factor * rows.norm(dim=1).median() * one / one.norm()

    return change


def _alie(rows: Tensor, mine: Sequence[int], _: int) -> None:
    """A little is enough: less than the honest updates' own spread, in every coordinate."""
    honest = torch.ones(len(rows), dtype=torch.bool)
    honest[mine] = False
    rows[mine] = rows[honest].mean(dim=0) - 1.0 * rows[honest].std(dim=0)


def _later(change: Change) -> Change:
    def patient(rows: Tensor, mine: Sequence[int], number: int) -> None:
        if number > QUIET:
            change(rows, mine, number)

    return patient


ATTACKS = (
    Attack("none", 0, _flip(1)),
    Attack("sign flip, 1 node", 1, _flip(1)),
    Attack("sign flip x 10, 1 node", 1, _flip(10)),
    Attack("random direction x 10, 1 node", 1, _random(10)),
    Attack("sign flip and a claim of 1e9 examples, 1 node", 1, _flip(1), claims=1e9),
    Attack("sign flip x 10, 3 nodes", 3, _flip(10)),
    Attack("same random direction x 3, 3 nodes", 3, _random(3)),
    Attack("a little is enough, 3 nodes", 3, _alie),
    Attack(f"honest for {QUIET} rounds, then sign flip, 3 nodes", 3, _later(_flip(1))),
    Attack(f"honest for {QUIET} rounds, then a random direction, 3 nodes", 3, _later(_random(1))),
)


class Attacked:
    """An engine whose first nodes attack."""

    def __init__(self, engine: Batched, attack: Attack) -> None:
        self._engine, self._attack = engine, attack
        self.nodes = engine.nodes

    def train(
        self, params: Tensor, buffers: Tensor, told: Instructions, nodes: Sequence[int]
    ) -> Cohort:
        cohort = self._engine.train(params, buffers, told, nodes)
        rows, examples = cohort.slab(0, cohort.size).clone(), cohort.examples.clone()
        mine = list(range(self._attack.attackers))
        if mine:
            self._attack.change(rows, mine, told.round)
        if self._attack.claims is not None:
            examples[mine] = self._attack.claims
        return Cohort.of(
            cohort.nodes, rows, examples, round=told.round, buffers=cohort.buffers,
        )  # fmt: skip
