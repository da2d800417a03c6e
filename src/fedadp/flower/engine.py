"""An engine whose nodes are reached through a Flower grid."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from flwr.app import Message, MessageType, RecordDict
from flwr.serverapp import Grid
from torch import Tensor

from fedadp.core import Cohort, Instructions
from fedadp.errors import AbandonedError, QuorumError, TrainingError
from fedadp.flower.exchange import exchange
from fedadp.flower.node import pack
from fedadp.flower.replies import Replies
from fedadp.flower.roster import Roster
from fedadp.flower.schema import Schema
from fedadp.quorum import Quorum

log = logging.getLogger("fedadp")


class OverGrid:
    """Nodes behind a Flower grid: each is told what to do, and replies with its update.

    `strict` is for one machine: a node that fails ends the run, as under any other engine. Past
    one machine a node that fails is left out, and a round counts if it has a quorum.
    """

    def __init__(
        self,
        grid: Grid,
        roster: Roster,
        schema: Schema,
        quorum: Quorum,
        *,
        strict: bool = False,
        close: Callable[[], None] = lambda: None,
    ) -> None:
        self._grid, self._roster, self._schema, self._quorum = grid, roster, schema, quorum
        self._strict, self.close = strict, close
        self._abandoned = 0
        self._rows: list[Tensor] = []  # used again in every round
        self._apart: set[int] = set()

    @property
    def nodes(self) -> tuple[int, ...]:
        """All that ever came, so that who is sampled does not hang on who is online."""
        self._roster.greet()
        return tuple(sorted(self._roster.members))

    def train(
        self, params: Tensor, buffers: Tensor, told: Instructions, nodes: Sequence[int]
    ) -> Cohort:
        there = self._roster.greet()
        others = self._quorum.stand_ins(nodes, sorted(there), told.seed, told.round)
        replies = Replies(
            self._schema, len(nodes), most_examples=self._quorum.most_examples,
            name=self._roster.label, rows=self._rows,
        )  # fmt: skip
        for node in set(nodes) - there:
            replies.refuse(node, "it is offline")
        arrays = self._schema.record(params, buffers)
        config = pack(told, self._roster.expected.classes)
        content = RecordDict({"arrays": arrays, "config": config})
        limit, members = self._quorum.timeout, self._roster.members
        asked = {members[node].flower: node for node in [*nodes, *others] if node in there}
        messages = [
            Message(content, flower, MessageType.TRAIN, ttl=limit, group_id=str(told.round))
            for flower in asked
        ]

        def take(flower: int, message: Message) -> bool:
            return replies.take(asked[flower], message)

        exchange(self._grid, messages, limit, take, self._apart)
        for node in nodes:
            if node not in replies.seen and len(replies.good) < len(nodes):
                replies.refuse(node, f"no reply within {limit:g} s")
        self._check(replies, told, len(nodes))
        return replies.cohort(told.round)

    def _check(self, replies: Replies, told: Instructions, wanted: int) -> None:
        """Whether the round counts."""
        if self._strict and replies.failed:
            node, why = min(replies.failed.items())
            raise TrainingError(f"round {told.round}: {self._roster.label(node)} failed ({why})")
        good, needed = len(replies.good), self._quorum.needed(wanted)
        if good >= needed:
            self._abandoned = 0
            return
        self._abandoned += 1
        reasons = [f"{self._roster.label(n)}: {why}" for n, why in sorted(replies.refused.items())]
        said = f"round {told.round}: {good} of the {needed} replies needed can be used"
        said += f" ({reasons[0]})" if reasons else ""
        log.warning("%s; model and angles stay as they are", said)
        if self._strict or self._abandoned >= self._quorum.max_abandoned:
            many = f" for {self._abandoned} rounds in a row" if self._abandoned > 1 else ""
            raise QuorumError(f"{said}{many}; mend the nodes, or ask for less with min_replies")
        raise AbandonedError(said, replies.refused)
