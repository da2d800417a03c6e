"""Send messages, and collect the replies as they come: no fixed pauses, no reply counted twice."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable
from typing import Protocol

from flwr.app import Message
from flwr.serverapp import Grid

from fedadp.errors import QuorumError

log = logging.getLogger("fedadp")
SHORTEST, LONGEST = 0.002, 0.25  # seconds between two looks
SECONDS_BETWEEN_LINES = 10.0
Take = Callable[[int, Message], bool]


class Clock(Protocol):
    """What tells the time, and lets it pass."""

    def monotonic(self) -> float: ...

    def sleep(self, seconds: float, /) -> None: ...


def clock_of(grid: Grid) -> Clock:
    """The machine's, unless the grid lives in a time of its own."""
    return getattr(grid, "clock", time)


def exchange(grid: Grid, messages: Iterable[Message], seconds: float, take: Take) -> None:
    """Hand every node's reply to `take`, until it has enough, all replied, or time is up.

    A reply belongs to the node that the message went to, whatever it says of its sender: where a
    node is gone, it is the SuperLink that replies.
    """
    clock = clock_of(grid)
    end = clock.monotonic() + seconds
    sent = list(messages)
    ids = zip(grid.push_messages(sent), sent, strict=True)
    waiting = {place: message.metadata.dst_node_id for place, message in ids if place}
    pause = SHORTEST
    while waiting:
        replies = list(grid.pull_messages(list(waiting)))
        for reply in replies:
            node = waiting.pop(reply.metadata.reply_to_message_id, None)
            if node is None:
                log.info("a reply came that nobody waits for; it does not count")
            elif take(node, reply):
                return
        if replies:
            pause = SHORTEST
        elif clock.monotonic() >= end:
            return
        else:
            clock.sleep(min(pause, max(0.0, end - clock.monotonic())))
            pause = min(pause * 1.5, LONGEST)


def await_nodes(grid: Grid, fewest: int, seconds: float) -> list[int]:
    """Flower's ids of the nodes that are online, once there are enough of them."""
    clock = clock_of(grid)
    begin = said = clock.monotonic()
    pause = SHORTEST
    while len(nodes := sorted(grid.get_node_ids())) < fewest:
        now = clock.monotonic()
        if now - begin > seconds:
            raise QuorumError(
                f"nodes: {len(nodes)} of {fewest} came online within {seconds:g} s; "
                "start the others, or ask for fewer"
            )
        if now - said > SECONDS_BETWEEN_LINES:
            log.info("waiting for nodes: %d of %d are online", len(nodes), fewest)
            said = now
        clock.sleep(pause)
        pause = min(pause * 1.5, 1.0)
    return nodes
