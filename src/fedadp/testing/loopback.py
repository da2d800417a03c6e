"""A Flower grid in this process: a ClientApp is called when its reply is asked for.

Thousands of rounds a minute, and whatever can go wrong on a network on demand.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from flwr.app import Context, Error, Message, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp import Grid
from flwr.supercore.run import Run
from flwr.supercore.task_identity import TaskIdentity

from fedadp.testing.faults import Corrupt, Fate, Faults
from fedadp.testing.garbage import GARBAGE

__all__ = ["Corrupt", "Faults", "Loopback"]
SERVER, RAISED, GONE = 1, 2, 5  # Flower's id of the SuperLink, and two of its error codes
FORGOTTEN = 200  # looks after which a reply that nobody fetches is thrown away


class Clock:
    """A time that passes only where somebody sleeps, so that waiting costs nothing."""

    def __init__(self) -> None:
        self._now = 0.0

    def monotonic(self) -> float:
        return self._now

    def sleep(self, seconds: float) -> None:
        self._now += seconds


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
        self._numbers = itertools.count(1)
        self._waiting: list[tuple[int, Message]] = []  # looks still to go, and the reply
        self._late: list[Message] = []  # to come in the next exchange
        self._strays: list[Message] = []  # to come at the next look, though nobody asked
        self.clock = Clock()
        self.round = 0  # for messages that do not say theirs, and for who is online
        self.sent = 0
        self.happened: Counter[str] = Counter()  # faults by kind
        TaskIdentity.run_id, TaskIdentity.task_id, TaskIdentity.node_id = 1, 1, SERVER

    def get_node_ids(self) -> Iterable[int]:
        return [node for node in sorted(self._configs) if not self.faults.offline(self.round, node)]

    def push_messages(self, messages: Iterable[Message]) -> Iterable[str]:
        places = []
        self._strays, self._late = [*self._strays, *self._late], []
        for message in messages:
            self.sent += 1
            message.metadata.__dict__["_message_id"] = place = f"message {next(self._numbers)}"
            places.append(place)
            self._answer(message)
        return places

    def pull_messages(self, message_ids: Iterable[str]) -> Iterable[Message]:
        wanted, rest = set(message_ids), []
        due, self._strays = self._strays, []
        for looks, message in self._waiting:
            if looks <= 0 and message.metadata.reply_to_message_id in wanted:
                due.append(message)
            elif looks > -FORGOTTEN:
                rest.append((looks - 1, message))
        self._waiting = rest
        return due

    def send_and_receive(
        self, messages: Iterable[Message], *, timeout: float | None = None
    ) -> Iterable[Message]:
        from fedadp.flower.exchange import exchange

        found: list[Message] = []
        exchange(self, messages, timeout or 60.0, lambda _, m: bool(found.append(m)))  # type: ignore[func-returns-value]
        return found

    def _answer(self, message: Message) -> None:
        kind, node = message.metadata.message_type, message.metadata.dst_node_id
        number = int(message.metadata.group_id or self.round)
        if self.faults.offline(number, node):
            self._waiting.append((0, self._gone(message)))
            return
        fate = self.faults.fate(kind, number, node)
        if fate.trouble:
            self.happened[fate.trouble] += 1
        if fate.trouble == "dropped":
            return
        if fate.trouble == "vanished":
            self._waiting.append((fate.looks, self._gone(message)))
            return
        reply = self._reply(node, message, fate)
        if fate.trouble == "late":
            self._late.append(reply)
            return
        self._waiting.append((fate.looks, reply))
        if fate.repeated:
            self.happened["repeated"] += 1
            self._waiting.append((fate.looks, reply))

    def _reply(self, node: int, message: Message, fate: Fate) -> Message:
        context = Context(1, node, dict(self._configs[node]), RecordDict(), {})
        try:
            reply = self._app(message, context)
        except Exception as error:  # noqa: BLE001  a node may fail in any way, as on a network
            return Message(Error(RAISED, f"{type(error)}:<'{error}'>"), reply_to=message)
        if fate.trouble in GARBAGE:
            return Message(GARBAGE[fate.trouble](reply.content), reply_to=message)
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
