"""Send messages, and collect the replies as they come: no fixed pauses, no reply counted twice."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Protocol

from flwr.app import Error, Message
from flwr.serverapp import Grid
from httpx import HTTPError

from fedadp.errors import QuorumError, reason

log = logging.getLogger("fedadp")
SHORTEST, LONGEST = 0.002, 0.25  # seconds between two looks
SECONDS_BETWEEN_LINES = 10.0
UNREADABLE = 0  # as Flower codes what it does not know
Take = Callable[[int, Message], bool]


class Clock(Protocol):
    """What tells the time, and lets it pass."""

    def monotonic(self) -> float: ...

    def sleep(self, seconds: float, /) -> None: ...


def clock_of(grid: Grid) -> Clock:
    """The machine's, unless the grid lives in a time of its own."""
    return getattr(grid, "clock", time)


def exchange(
    grid: Grid,
    messages: Iterable[Message],
    seconds: float,
    take: Take,
    apart: set[int] | None = None,  # nodes whose replies are fetched alone, from earlier exchanges
) -> None:
    """Hand every node's reply to `take`, until it has enough, all replied, or time is up.

    A reply belongs to the node that the message went to, whatever it says of its sender: where a
    node is gone, it is the SuperLink that replies.
    """
    clock = clock_of(grid)
    end = clock.monotonic() + seconds
    sent = list(messages)
    waiting = {place: m for place, m in zip(grid.push_messages(sent), sent, strict=True) if place}
    apart = set() if apart is None else apart
    pause = SHORTEST
    while waiting:
        replies = list(_fetch(grid, waiting, apart))
        for reply in replies:
            asked = waiting.pop(reply.metadata.reply_to_message_id, None)
            if asked is None:
                log.info("a reply came that nobody waits for; it does not count")
            elif take(asked.metadata.dst_node_id, reply):
                return
        left = end - clock.monotonic()
        if left <= 0:
            return
        if replies:
            pause = SHORTEST
        else:
            clock.sleep(min(pause, left))
            pause = min(pause * 1.5, LONGEST)


def _fetch(grid: Grid, waiting: Mapping[str, Message], apart: set[int]) -> Iterator[Message]:
    """What has come.

    Flower puts a reply together from pieces as its node wrote them. Where that fails, it fails for
    all that were fetched at once, and they are lost. From then on replies are fetched one by one:
    those of honest nodes until the first arrives, those of whoever broke it for good.
    """
    nodes = {place: message.metadata.dst_node_id for place, message in waiting.items()}
    together = [place for place, node in nodes.items() if node not in apart]
    try:
        yield from list(grid.pull_messages(together)) if together else []
    except HTTPError:  # of the connection, not of a reply
        raise
    except Exception as error:  # noqa: BLE001  a stranger's bytes may break Flower in any way
        log.warning("a reply cannot be put together (%s); each is fetched alone", reason(error))
        apart.update(nodes.values())
    for place, node in nodes.items():
        if node not in apart:
            continue
        try:
            found = list(grid.pull_messages([place]))
        except HTTPError:
            raise
        except Exception as error:  # noqa: BLE001
            why = f"its reply cannot be put together ({reason(error)})"
            yield Message(Error(UNREADABLE, why), reply_to=waiting[place])
        else:
            apart -= {node} if found else set()
            yield from found


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
