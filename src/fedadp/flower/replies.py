"""The replies of one round: each is checked as it comes, and what is refused is named."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterable
from typing import NamedTuple

import torch
from flwr.app import Message, MetricRecord, RecordDict
from torch import Tensor

from fedadp.cohort import MOST_EXAMPLES, Cohort
from fedadp.errors import UpdateError
from fedadp.flower.schema import Schema

log = logging.getLogger("fedadp")
LONGEST_REASON = 300


class Reply(NamedTuple):
    """A reply that passed; its update is in a row."""

    node: int
    row: int
    examples: int
    statistics: Tensor  # (Q,)
    content: RecordDict  # without its arrays, which are in the row


class Replies:
    """What came of the nodes that were asked in one round."""

    def __init__(
        self,
        schema: Schema,
        wanted: int,
        *,
        base: Tensor | None = None,  # (P,) what nodes began with, where they send what they reached
        count_key: str = "num-examples",
        most_examples: int | None = None,
        name: Callable[[int], str] = str,
        rows: list[Tensor] | None = None,  # (P,) each, of a round that is over
    ) -> None:
        self._schema, self._base = schema, base
        self._wanted, self._count_key, self._most, self._name = (
            wanted, count_key, most_examples, name,
        )  # fmt: skip
        self._rows = [] if rows is None else rows
        self.seen: set[int] = set()
        self.good: dict[int, Reply] = {}
        self.refused: dict[int, str] = {}
        self.failed: dict[int, str] = {}  # of the refused: who said itself that it failed

    def take(self, node: int, message: Message) -> bool:
        """Check a reply, and keep or refuse it; true once there are as many as are wanted."""
        if node in self.seen:
            log.info("%s: replied more than once; the first reply counts", self._name(node))
        elif message.has_error():
            self.failed[node] = printable(message.error.reason or f"code {message.error.code}")
            self.refuse(node, f"it failed: {self.failed[node]}")
        else:
            try:
                message.content = self._keep(node, message.content)
            except UpdateError as error:
                self.refuse(node, str(error))
        self.seen.add(node)
        return len(self.good) >= self._wanted

    def _keep(self, node: int, content: RecordDict) -> RecordDict:
        """Decode a reply into a row; what is left of it, for a model per node is enough."""
        names, metrics = list(content.array_records), _metrics(content)
        if len(names) != 1:
            raise UpdateError(f"it sent {len(names)} records of arrays, not one")
        if len(self.good) == len(self._rows):
            self._rows.append(torch.empty(self._schema.size, dtype=self._schema.dtype))
        row = self._rows[len(self.good)]
        statistics = self._schema.read(content.array_records[names[0]], row, self._base)
        loss = metrics.get("loss", 0.0)
        if isinstance(loss, float) and not math.isfinite(loss):
            raise UpdateError(f"its loss is {loss}")
        # a finite sum has finite terms; one that is not may have overflowed
        if not math.isfinite(float(row.sum())) and not torch.isfinite(row).all():
            raise UpdateError("its update is not finite")
        if not torch.isfinite(statistics).all():
            raise UpdateError("its statistics are not finite")
        examples = count(metrics, self._count_key)
        if self._most is not None and examples > self._most:
            log.warning(
                "%s: claims %d examples; they count as %d", self._name(node), examples, self._most
            )
            examples = self._most
        rest = RecordDict({name: content[name] for name in content if name != names[0]})
        self.good[node] = Reply(node, len(self.good), examples, statistics, rest)
        return rest

    def refuse(self, node: int, why: str) -> None:
        """Leave a node out of this round, and say why."""
        self.seen.add(node)
        self.refused[node] = why
        log.warning("%s: left out of this round; %s", self._name(node), why)

    def cohort(self, number: int, only: Iterable[int] | None = None) -> Cohort:
        """Those whose replies passed, by node; `only` leaves others out."""
        names = self.good.keys() if only is None else self.good.keys() & set(only)
        kept = [self.good[node] for node in sorted(names)]
        losses = [_metrics(reply.content).get("loss") for reply in kept]
        told = all(isinstance(loss, float) for loss in losses)
        return Cohort.of(
            [reply.node for reply in kept],
            [self._rows[reply.row] for reply in kept],
            [reply.examples for reply in kept],
            round=number,
            buffers=torch.stack([reply.statistics for reply in kept]),
            notes={"loss": torch.tensor(losses, dtype=torch.float64)} if told else {},
            refused=self.refused,
        )


def count(metrics: MetricRecord, key: str) -> int:
    """How many examples a node says it holds."""
    if key not in metrics:
        raise UpdateError(f"it did not say {key!r}, so its share is not known")
    said = metrics[key]
    if isinstance(said, list) or said != said or not 0 < said <= MOST_EXAMPLES or said % 1:
        raise UpdateError(f"its {key!r} is {str(said)[:40]}, not a whole number above 0")
    return int(said)


def _metrics(content: RecordDict) -> MetricRecord:
    records = list(content.metric_records.values())
    if len(records) != 1:
        raise UpdateError(f"it sent {len(records)} records of metrics, not one")
    return records[0]


def printable(reason: str) -> str:
    """One line of what a stranger wrote: the last, for that is where a traceback says why."""
    lines = [" ".join(line.split()) for line in reason.splitlines() if line.strip()]
    line = lines[-1] if lines else ""
    return "".join(c if c.isprintable() else "?" for c in line)[:LONGEST_REASON]
