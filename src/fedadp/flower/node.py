"""What a node does when a message comes: say who it is, or train as instructed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, fields

import torch
from flwr.app import ConfigRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp

from fedadp.core import Instructions
from fedadp.engines.inprocess import Task, Workshop
from fedadp.flat import Flat
from fedadp.flower.schema import Schema
from fedadp.parallel import one_thread

HELLO = "query.hello"
OPTIONAL = ("steps", "batch_size")  # None is left out, for a message cannot carry it


@dataclass(frozen=True, eq=False)
class Seat:
    """A node's number among the nodes, its name, and the workshop in which it trains."""

    number: int
    name: str
    shop: Workshop

    def introduce(self) -> RecordDict:
        """Who it is, and what its model and examples look like."""
        examples, tool = self.shop.data[self.number], self.shop.tool()
        said = ConfigRecord(
            {
                "number": self.number,
                "name": self.name,
                "examples": len(examples),
                "shape": [int(side) for side in examples.x.shape[1:]],
                "highest-label": int(examples.y.max()),
                "model": Schema.of_module(tool.module).fingerprint,
            }
        )
        return RecordDict({"hello": said})

    def train(self, content: RecordDict) -> RecordDict:
        """The update that these instructions lead to; not the parameters, which would round it."""
        tool: Flat = self.shop.tool()
        schema = Schema.of_module(tool.module)
        told = unpack(content.config_records["config"])
        task = Task(*schema.flatten(content.array_records["arrays"]), told)
        row = torch.empty_like(task.params)
        with one_thread():
            reply = self.shop.dice.settled(lambda: self.shop.train(tool, task, self.number, row))
        metrics = MetricRecord({"num-examples": reply.examples, "loss": reply.loss})
        return RecordDict({"arrays": schema.record(row, reply.buffers), "metrics": metrics})


def pack(told: Instructions, classes: int) -> ConfigRecord:
    """Instructions, as a message carries them, and how many classes there are."""
    return ConfigRecord(
        {"classes": classes, **{k: v for k, v in asdict(told).items() if v is not None}}
    )


def unpack(config: ConfigRecord) -> Instructions:
    """And back."""
    told = {f.name: config[f.name] for f in fields(Instructions) if f.name in config}
    return Instructions(**{**dict.fromkeys(OPTIONAL), **told})  # type: ignore[arg-type]


def client_app(seat: Callable[[Context, int], Seat]) -> ClientApp:
    """Flower's ClientApp around a seat, opened for as many classes as a message says."""
    app = ClientApp()

    def open_seat(message: Message, context: Context) -> Seat:
        return seat(context, int(str(message.content.config_records["config"]["classes"])))

    @app.train()
    def train(message: Message, context: Context) -> Message:
        reply = open_seat(message, context).train(message.content)
        return Message(reply, reply_to=message)

    @app.query("hello")
    def hello(message: Message, context: Context) -> Message:
        return Message(open_seat(message, context).introduce(), reply_to=message)

    return app
