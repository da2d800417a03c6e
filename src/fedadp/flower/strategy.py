"""A strategy of fedadp as one of Flower's."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import torch
from flwr.app import ArrayRecord, ConfigRecord, Message, MessageType, MetricRecord, RecordDict
from flwr.serverapp import Grid
from flwr.serverapp.strategy import FedAvg as Stock
from flwr.serverapp.strategy import Result
from flwr.serverapp.strategy import Strategy as FlowerStrategy

from fedadp.core import Instructions, Strategy
from fedadp.errors import QuorumError, require
from fedadp.flower.exchange import await_nodes, exchange
from fedadp.flower.identity import flower_id, house_id
from fedadp.flower.memory import Memory
from fedadp.flower.replies import Replies
from fedadp.flower.scores import average_scores
from fedadp.loop import Round
from fedadp.quorum import Quorum
from fedadp.randomness import generator

log = logging.getLogger("fedadp")
Average = Callable[[list[RecordDict], str], MetricRecord]


class Lifted(FlowerStrategy):
    """Any strategy of fedadp, where Flower expects one of its own.

    Takes what Flower's `FedAvg` takes, and: a `Quorum`, a `checkpoint` to go on from, and a `seed`
    for the sampling of nodes.
    """

    def __init__(
        self,
        strategy: Strategy[Any],
        fraction_train: float = 1.0,
        fraction_evaluate: float = 1.0,
        min_train_nodes: int = 2,
        min_evaluate_nodes: int = 2,
        min_available_nodes: int = 2,
        weighted_by_key: str = "num-examples",
        arrayrecord_key: str = "arrays",
        configrecord_key: str = "config",
        train_metrics_aggr_fn: Average | None = None,
        evaluate_metrics_aggr_fn: Average | None = None,
        *,
        quorum: Quorum | None = None,
        checkpoint: str | Path | None = None,
        seed: int = 0,
    ) -> None:
        require(0 <= fraction_train <= 1, "fraction_train", fraction_train, "a number from 0 to 1")
        self.strategy, self.quorum, self.seed = strategy, quorum or Quorum(), seed
        self.fraction_train, self.min_train_nodes = fraction_train, min_train_nodes
        self.min_available_nodes, self.weighted_by_key = min_available_nodes, weighted_by_key
        self.arrayrecord_key, self.configrecord_key = arrayrecord_key, configrecord_key
        self._average = train_metrics_aggr_fn or average_scores
        # evaluation is Flower's own: only training has angles
        self.stock = Stock(
            fraction_train, fraction_evaluate, min_train_nodes, min_evaluate_nodes,
            min_available_nodes, weighted_by_key, arrayrecord_key, configrecord_key,
            train_metrics_aggr_fn, evaluate_metrics_aggr_fn or average_scores,
        )  # fmt: skip
        self._checkpoint = checkpoint
        self._memory = Memory(strategy, checkpoint)
        self._limit = None if quorum is None else quorum.timeout
        self._timeout = self.quorum.timeout
        self._replies: Replies | None = None  # of the round that is under way
        self._sent: list[Message] = []
        self._apart: set[int] = set()
        self._wanted = self._abandoned = 0

    @property
    def now(self) -> Round:
        """What stands after the last round: the parameters, and what the strategy remembers."""
        return self._memory.now

    def weigh_by(self, strategy: Strategy[Any]) -> None:
        """Another strategy from here on, which remembers nothing yet."""
        self.strategy, self._memory = strategy, Memory(strategy, self._checkpoint)

    def summary(self) -> None:
        log.info("%r, %r", self.strategy, self.quorum)
        self.stock.summary()

    def configure_train(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> Iterable[Message]:
        """Sample nodes, and tell them what to do."""
        if self.fraction_train == 0:
            return []
        fewest = max(self.min_available_nodes, self.min_train_nodes)
        nodes = [house_id(node) for node in await_nodes(grid, fewest, self._timeout)]
        wanted = max(int(len(nodes) * self.fraction_train), self.min_train_nodes)
        order = torch.randperm(len(nodes), generator=generator(self.seed, "sampling", server_round))
        chosen = [nodes[place] for place in order.tolist()[:wanted]]
        others = self.quorum.stand_ins(chosen, nodes, self.seed, server_round)
        self._memory.hold(server_round - 1, arrays)
        self._wanted = wanted
        self._replies = Replies(
            self._memory.schema,
            wanted,
            base=self._memory.now.params,
            count_key=self.weighted_by_key,
            most_examples=self.quorum.most_examples,
            name=lambda node: f"node {flower_id(node)}",
        )
        told = self.strategy.instruct(Instructions(round=server_round))
        if told.proximal:  # the name that Flower's own FedProx gives it
            config["proximal-mu"] = told.proximal
        config["server-round"] = server_round
        content = RecordDict({self.arrayrecord_key: arrays, self.configrecord_key: config})
        self._sent = [
            Message(
                content, flower_id(node), MessageType.TRAIN,
                ttl=self._timeout, group_id=str(server_round),
            )
            for node in [*chosen, *others]
        ]  # fmt: skip
        return self._sent

    def aggregate_train(
        self, server_round: int, replies: Iterable[Message]
    ) -> tuple[ArrayRecord | None, MetricRecord | None]:
        """One step from the replies that pass; (None, None) where there are too few.

        Those that `start` fetched are checked already, and their arrays are in rows by now.
        """
        gate, self._replies = self._replies, None  # the rows are let go after the step
        if gate is None:
            return None, None
        # a reply is from whom its message went to, whatever it says of its sender
        asked = {m.metadata.message_id: house_id(m.metadata.dst_node_id) for m in self._sent}
        came = set()
        for message in replies:
            node = asked.get(message.metadata.reply_to_message_id)
            if node is not None and message.has_content():
                came.add(node)
                if node not in gate.seen:
                    gate.take(node, message)
        good, needed = came & gate.good.keys(), self.quorum.needed(self._wanted)
        if len(good) < needed:
            self._abandon(server_round, len(good), needed)
            return None, None
        self._abandoned = 0
        arrays = self._memory.advance(server_round, gate.cohort(server_round, good))
        now = self._memory.now
        contents = [gate.good[node].content for node in now.nodes]
        scores = self._average(contents, self.weighted_by_key)
        return arrays, MetricRecord({**scores, **per_node(now)})

    def _abandon(self, number: int, good: int, needed: int) -> None:
        self._abandoned += 1
        self._memory.skip(number)
        log.warning(
            "round %d: abandoned, for %d of the %d replies needed can be used; "
            "model and angles stay as they are", number, good, needed,
        )  # fmt: skip
        if self._abandoned >= self.quorum.max_abandoned:
            raise QuorumError(
                f"round {number}: {self._abandoned} rounds in a row had too few usable replies; "
                "see the warnings above for why, or ask for less with min_replies"
            )

    def configure_evaluate(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> Iterable[Message]:
        messages = list(self.stock.configure_evaluate(server_round, arrays, config, grid))
        for message in messages:  # else a node that is behind works through every old round
            message.metadata.ttl = self._timeout
        return messages

    def aggregate_evaluate(
        self,
        server_round: int,  # noqa: ARG002  as Flower has it
        replies: Iterable[Message],
    ) -> MetricRecord | None:
        contents = [reply.content for reply in replies if reply.has_content()]
        return self.stock.evaluate_metrics_aggr_fn(contents, self.weighted_by_key) or None

    def start(
        self,
        grid: Grid,
        initial_arrays: ArrayRecord,
        num_rounds: int = 3,
        timeout: float = 3600,
        train_config: ConfigRecord | None = None,
        evaluate_config: ConfigRecord | None = None,
        evaluate_fn: Callable[[int, ArrayRecord], MetricRecord | None] | None = None,
    ) -> Result:
        """The whole of the training; it goes on from the checkpoint, if there is one."""
        self._timeout = timeout if self._limit is None else min(timeout, self._limit)
        self.summary()
        arrays = self._memory.begin(initial_arrays)
        first, result = self._memory.now.number + 1, Result()
        result.arrays = arrays
        if evaluate_fn and (scores := evaluate_fn(first - 1, arrays)) is not None:
            result.evaluate_metrics_serverapp[first - 1] = scores
        for number in range(first, num_rounds + 1):
            config = train_config if train_config is not None else ConfigRecord()
            replies = self._exchange(grid, self.configure_train(number, arrays, config, grid), True)
            stepped, metrics = self.aggregate_train(number, replies)
            if stepped is not None:
                result.arrays = arrays = stepped
            if metrics is not None:
                result.train_metrics_clientapp[number] = metrics
            config = evaluate_config if evaluate_config is not None else ConfigRecord()
            asked = self.configure_evaluate(number, arrays, config, grid)
            found = self.aggregate_evaluate(number, self._exchange(grid, asked, False))
            if found is not None:
                result.evaluate_metrics_clientapp[number] = found
            if evaluate_fn and (scores := evaluate_fn(number, arrays)) is not None:
                result.evaluate_metrics_serverapp[number] = scores
            log.info("round %d of %d: %s", number, num_rounds, "done" if stepped else "abandoned")
        return result

    def _exchange(self, grid: Grid, messages: Iterable[Message], training: bool) -> list[Message]:
        came: list[Message] = []

        def take(node: int, message: Message) -> bool:
            came.append(message)
            if not training or self._replies is None:
                return False
            return self._replies.take(house_id(node), message)

        exchange(grid, messages, self._timeout, take, self._apart)
        return came


def per_node(now: Round) -> dict[str, list[int] | list[float]]:
    """What was found of each node, in the order of `node`."""
    lists = {
        name: [float(value) for value in now.notes[name].tolist()]
        for name in ("weight", "angle", "smoothed_angle", "norm")
        if name in now.notes
    }
    return {"node": [flower_id(node) for node in now.nodes], **lists}
