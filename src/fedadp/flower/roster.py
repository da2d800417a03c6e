"""Who the nodes are: each says so once, and is checked, before it may take part."""

from __future__ import annotations

import logging
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from flwr.app import ConfigRecord, Message, RecordDict
from flwr.serverapp import Grid

from fedadp.errors import DataError, QuorumError
from fedadp.flower.exchange import SECONDS_BETWEEN_LINES, clock_of, exchange
from fedadp.flower.members import Member, note, recall
from fedadp.flower.node import HELLO
from fedadp.flower.replies import printable

log = logging.getLogger("fedadp")
MOST_NODES = 2**31
SECONDS_FOR_HELLO = 300.0
PAUSE = 0.2


@dataclass(frozen=True)
class Expected:
    """What a node's model and examples must look like."""

    model: str  # its schema's fingerprint
    shape: tuple[int, ...]  # of one input
    classes: int


class Roster:
    """The nodes by number: all that ever came and passed, whether they are online or not.

    `keep` is a file to write them to, so that a server that was restarted asks the same nodes.
    """

    def __init__(
        self,
        grid: Grid,
        expected: Expected,
        *,
        strict: bool,
        seconds: float,
        keep: Path | None = None,
    ) -> None:
        self._grid, self.expected, self._strict, self._keep = grid, expected, strict, keep
        self._seconds = min(seconds, SECONDS_FOR_HELLO)
        self.members = recall(keep, expected.model) if keep else {}
        self._unseen = set(self.members)  # known from the file alone
        self._out: dict[int, str] = {}  # why a node may not take part, by Flower's id
        self._there: set[int] = set()  # Flower's ids, at the latest greeting
        self._apart: set[int] = set()
        self._tries: Counter[int] = Counter()
        self._next: dict[int, int] = {}  # the greeting in which to ask again
        self._greetings = 0

    def greet(self) -> set[int]:
        """Meet those that are new; the numbers of the members that can be reached now."""
        self._there = there = set(self._grid.get_node_ids())
        self._greetings += 1
        known = {member.flower for member in self.members.values()}
        new = [n for n in sorted(there - known) if self._next.get(n, 0) <= self._greetings]
        if new:
            hello = RecordDict({"config": ConfigRecord({"classes": self.expected.classes})})
            asked = [Message(hello, node, HELLO, ttl=self._seconds) for node in new]
            for node in new:  # until it may take part; ever less often, for the round waits
                self._out[node] = "no reply"
                self._next[node] = self._greetings + 2 ** self._tries[node]
                self._tries[node] += 1
            exchange(self._grid, asked, self._seconds, self._meet, self._apart)
        reached = {member.number for member in self.members.values() if member.flower in there}
        self._unseen -= reached
        return reached

    def wait(self, fewest: int, seconds: float) -> None:
        """Until so many nodes may take part."""
        clock = clock_of(self._grid)
        begin = said = clock.monotonic()
        while len(there := self.greet()) < fewest:
            now = clock.monotonic()
            if now - begin > seconds:
                whys = "; ".join(f"{node}: {why}" for node, why in self._out.items())
                raise QuorumError(
                    f"nodes: {len(there)} of {fewest} that may take part came within "
                    f"{seconds:g} s{f' ({whys})' if whys else ''}; start others, or lower min_nodes"
                )
            if now - said > SECONDS_BETWEEN_LINES:
                log.info("waiting for nodes: %d of %d may take part", len(there), fewest)
                said = now
            clock.sleep(PAUSE)

    def label(self, number: int) -> str:
        member = self.members[number]
        return f"node {number}" + (f" ({member.name})" if member.name else "")

    def _meet(self, flower: int, message: Message) -> bool:
        try:
            if message.has_error():
                raise DataError(printable(message.error.reason or f"code {message.error.code}"))
            self._admit(_read(flower, message.content))
            self._out.pop(flower, None)
        except DataError as error:
            if self._strict:
                raise
            self._out[flower] = str(error)
            log.warning("Flower's node %d may not take part: %s", flower, error)
        return False

    def _admit(self, met: tuple[Member, Expected]) -> None:
        member, has = met
        wanted = self.expected
        if has.model != wanted.model:
            raise DataError("its model has other arrays than ours; give it the same app")
        if has.shape != wanted.shape:
            raise DataError(f"its inputs have shape {has.shape}, not {wanted.shape}")
        if has.classes > wanted.classes:
            raise DataError(f"its labels go up to {has.classes - 1}, ours to {wanted.classes - 1}")
        holder = self.members.get(member.number)
        same = holder is None or holder.flower == member.flower
        moved = holder and member.number in self._unseen and holder.flower not in self._there
        if not (same or moved):
            raise DataError(f"it calls itself number {member.number}, as another node does already")
        self.members[member.number] = member
        self._unseen.discard(member.number)
        if self._keep:
            note(self._keep, wanted.model, self.members)
        log.info("%s is here with %d examples", self.label(member.number), member.examples)


def _read(flower: int, content: RecordDict) -> tuple[Member, Expected]:
    """What a node says of itself; anything may stand there."""
    said = next(iter(content.config_records.values()), ConfigRecord())
    number, name, examples = (said.get(key) for key in ("number", "name", "examples"))
    shape, highest, model = (said.get(key) for key in ("shape", "highest-label", "model"))
    for value, most in ((number, MOST_NODES), (examples, 10**15), (highest, MOST_NODES)):
        if not isinstance(value, int) or not 0 <= value <= most:
            raise DataError("what it says of itself cannot be read; give it the same app")
    sides = shape if isinstance(shape, list) else []
    member = Member(int(str(number)), printable(str(name or ""))[:80], flower, int(str(examples)))
    shape_ = tuple(int(side) for side in sides if isinstance(side, int))
    return member, Expected(str(model), shape_, int(str(highest)) + 1)
