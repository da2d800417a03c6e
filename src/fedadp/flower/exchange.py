"""Send messages, and collect the replies as they come: no fixed pauses, no reply counted twice."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable

from flwr.app import Message
from flwr.serverapp import Grid

from fedadp.errors import QuorumError

log = logging.getLogger("fedadp")
SHORTEST, LONGEST = 0.002, 0.25  # seconds between two looks
SECONDS_BETWEEN_LINES = 10.0
Take = Callable[[int, Message], bool]


def exchange(grid: Grid, messages: Iterable[Message], seconds: float, take: Take) -> None:
    """Hand every node's reply to `take`, until it has enough, all replied, or time is up.

    A reply belongs to the node that the message went to, whatever it says of its sender: where a
    node is gone, it is the SuperLink that replies.
    """
    end = time.monotonic() + seconds
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
        elif time.monotonic() >= end:
            return
        else:
            time.sleep(min(pause, max(0.0, end - time.monotonic())))
            pause = min(pause * 1.5, LONGEST)


def await_nodes(grid: Grid, fewest: int, seconds: float) -> list[int]:
    """Flower's ids of the nodes that are online, once there are enough of them."""
    begin = said = time.monotonic()
    pause = SHORTEST
    while len(nodes := sorted(grid.get_node_ids())) < fewest:
        now = time.monotonic()
        if now - begin > seconds:
            raise QuorumError(
                f"nodes: {len(nodes)} of {fewest} came online within {seconds:g} s; "
                "start the others, or ask for fewer"
            )
        if now - said > SECONDS_BETWEEN_LINES:
            log.info("waiting for nodes: %d of %d are online", len(nodes), fewest)
            said = now
        time.sleep(pause)
        pause = min(pause * 1.5, 1.0)
    return nodes
