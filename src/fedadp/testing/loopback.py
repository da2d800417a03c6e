"""A Flower grid in this process: a ClientApp is called when its reply is asked for.

Thousands of rounds a minute, and whatever can go wrong on a network on demand.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from flwr.app import Context, Error, Message, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp import Grid
from flwr.supercore.run import Run
from flwr.supercore.task_identity import TaskIdentity

from fedadp.randomness import numpy_generator

SERVER, RAISED, GONE = 1, 2, 5  # Flower's id of the SuperLink, and two of its error codes
Corrupt = Callable[[int, RecordDict], RecordDict]  # a node's id and its reply


@dataclass
class Faults:
    """What goes wrong, and how often; chances are drawn from the seed."""

    drop: float = 0.0  # the chance that a reply never comes
    duplicate: float = 0.0  # that it comes twice
    delay: int = 0  # looks that a reply is late, at the most
    gone: frozenset[int] = frozenset()  # nodes that are offline: the SuperLink says so
    corrupt: Mapping[int, Corrupt] = field(default_factory=dict)  # by node
    seed: int = 0


class Loopback(Grid):
    """Nodes of a ClientApp, in this process.

    >>> from flwr.app import ConfigRecord
    >>> app = ClientApp()
    >>> @app.query()
    ... def echo(message, context):
    ...     return Message(message.content, reply_to=message)
    >>> grid = Loopback(app, {11: {}, 12: {}})
    >>> content = RecordDict({"words": ConfigRecord({"hello": 1})})
    >>> [reply] = grid.send_and_receive([Message(content, 12, "query")])
    >>> reply.metadata.src_node_id, reply.content["words"]["hello"]
    (12, 1)
    """

    def __init__(
        self,
        app: ClientApp,
        nodes: Mapping[int, Mapping[str, Any]],  # Flower's ids, and each node's config
        faults: Faults | None = None,
    ) -> None:
        self._app, self.faults = app, faults or Faults()
        self._configs = dict(nodes)
        self._dice = numpy_generator(self.faults.seed, "loopback")
        self._numbers = itertools.count(1)
        self._waiting: list[tuple[int, Message]] = []  # looks still to go, and the reply
        self.sent = 0
        TaskIdentity.run_id, TaskIdentity.task_id, TaskIdentity.node_id = 1, 1, SERVER

    def get_node_ids(self) -> Iterable[int]:
        return sorted(self._configs.keys() - self.faults.gone)

    def push_messages(self, messages: Iterable[Message]) -> Iterable[str]:
        places = []
        for message in messages:
            self.sent += 1
            message.metadata.__dict__["_message_id"] = place = f"message {next(self._numbers)}"
            places.append(place)
            self._answer(message)
        return places

    def pull_messages(self, message_ids: Iterable[str]) -> Iterable[Message]:
        wanted = set(message_ids)
        due = [m for looks, m in self._waiting if looks <= 0 and _place(m) in wanted]
        late = [(looks - 1, m) for looks, m in self._waiting if m not in due]
        self._waiting = late
        return due

    def send_and_receive(
        self, messages: Iterable[Message], *, timeout: float | None = None
    ) -> Iterable[Message]:
        from fedadp.flower.exchange import exchange

        found: list[Message] = []
        exchange(self, messages, timeout or 60.0, lambda _, m: bool(found.append(m)))  # type: ignore[func-returns-value]
        return found

    def _answer(self, message: Message) -> None:
        faults, node = self.faults, message.metadata.dst_node_id
        reply = self._gone(message) if node in faults.gone else self._reply(node, message)
        if self._dice.random() < faults.drop:
            return
        copies = 2 if self._dice.random() < faults.duplicate else 1
        for _ in range(copies):
            self._waiting.append((int(self._dice.integers(faults.delay + 1)), reply))

    def _reply(self, node: int, message: Message) -> Message:
        config = dict(self._configs[node])
        context = Context(1, node, config, RecordDict(), {})
        try:
            reply = self._app(message, context)
        except Exception as error:  # noqa: BLE001  a node may fail in any way, as on a network
            return Message(Error(RAISED, f"{type(error)}:<'{error}'>"), reply_to=message)
        corrupt = self.faults.corrupt.get(node)
        return Message(corrupt(node, reply.content), reply_to=message) if corrupt else reply

    def _gone(self, message: Message) -> Message:
        reply = Message(Error(GONE, "node unavailable"), reply_to=message)
        reply.metadata.__dict__["_src_node_id"] = SERVER
        return reply

    def set_run(self, run: Run) -> None:
        self._run = run

    @property
    def run(self) -> Run:
        return self._run

    def create_message(
        self,
        content: RecordDict,
        message_type: str,
        dst_node_id: int,
        group_id: str,
        ttl: float | None = None,
    ) -> Message:
        return Message(content, dst_node_id, message_type, ttl=ttl, group_id=group_id)


def _place(message: Message) -> str:
    return message.metadata.reply_to_message_id
