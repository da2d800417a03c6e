"""When a round over a network counts: how many must reply, how soon, and what happens if not."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from fedadp.errors import require
from fedadp.hints import Strict
from fedadp.randomness import generator


@dataclass(frozen=True, kw_only=True)
class Quorum(Strict):
    """How many nodes must reply, how soon, and how often a round may fail.

    >>> Quorum(min_replies=0.5).needed(asked=9), Quorum(over_select=1.3).spare(wanted=10)
    (5, 3)
    """

    min_replies: int | float = 1  # usable ones: a number, or as 0.5 a fraction of those wanted
    min_nodes: int = 1  # to wait for before the first round
    over_select: float = 1.0  # ask so many times more nodes than wanted; the first to reply count
    timeout: float = 3600.0  # seconds for a round
    max_abandoned: int = 3  # rounds without a quorum in a row, after which the run fails
    most_examples: int | None = None  # a node that claims more counts as this many

    def __post_init__(self) -> None:
        few = self.min_replies
        possible = few >= 1 if isinstance(few, int) else 0 < few <= 1
        wanted = "a fraction above 0.0 and up to 1.0, or a whole number of replies"
        require(possible, "min_replies", few, wanted)
        require(self.min_nodes >= 1, "min_nodes", self.min_nodes, "1 and more")
        factor, limit = self.over_select, self.timeout
        require(1 <= factor <= 10, "over_select", factor, "a number from 1 to 10, as 1.3")
        require(0 < limit <= 1e8, "timeout", limit, "a number of seconds above 0")
        require(self.max_abandoned >= 1, "max_abandoned", self.max_abandoned, "1 and more")
        most = self.most_examples
        require(most is None or most >= 1, "most_examples", most, "1 and more")

    def needed(self, asked: int) -> int:
        """The fewest usable replies with which a round counts."""
        few = self.min_replies
        return few if isinstance(few, int) else max(1, math.ceil(few * asked - 1e-9))

    def spare(self, wanted: int) -> int:
        """How many nodes to ask on top of those wanted."""
        return math.ceil((self.over_select - 1) * wanted - 1e-9)

    def stand_ins(
        self, wanted: Sequence[int], others: Sequence[int], seed: int, number: int
    ) -> list[int]:
        """Who is asked on top: drawn for this round from those who were not sampled."""
        rest = sorted(set(others) - set(wanted))
        draw = generator(seed, "over-selection", number)
        order = torch.randperm(len(rest), generator=draw).tolist()
        return [rest[place] for place in order[: self.spare(len(wanted))]]
