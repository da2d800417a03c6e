"""The reply gate: whatever a node sends is an update that counts, or it is refused by name.

The first byte says which part of an honest reply the others replace: the bytes of an array, what is
said of them, the names of the arrays, or the metrics. Parts are packed as Flower sends them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import numpy as np
import torch
from flwr.app import Array, ArrayRecord, Message, MetricRecord, RecordDict
from flwr.supercore.inflatable.inflatable_object import (
    add_header_to_object_body,
    get_object_body,
)
from flwr.supercore.task_identity import TaskIdentity

from fedadp.errors import FedadpError
from fedadp.flower.replies import LONGEST_REASON, Replies
from fedadp.flower.schema import Schema
from fedadp.promises import stepped
from fedadp.strategies import FedAdp, Robust
from fedadp.testing.garbage import GARBAGE, unpickled

T = TypeVar("T")
PARTS = ("values", "array", "names", "metrics")
WORDS = (
    b"\x93NUMPY\x01\x00", b"'descr': '<f4'", b"'descr': '|O'", b"'fortran_order': True",
    b"'shape': (2, 3)", b"'shape': (1000000, 1000000)", b'"dtype": "float32"', b'"shape": [2, 3]',
    b'"stype": "numpy.ndarray"', b'"arraychunk_ids": [0]', b'"w"', b'"n"', b"num-examples",
    b"loss", b"\x00\x00\xc0\x7f", b"Infinity", b"null", b"1e999", b"[[[[",
)  # fmt: skip
ARRAYS = {"w": Array(np.arange(6, dtype=np.float32).reshape(2, 3)), "n": Array(np.array(3))}
SCHEMA = Schema.of_arrays(ARRAYS)
STRANGER, HONEST = 5, (3, 7)

TaskIdentity.run_id, TaskIdentity.task_id, TaskIdentity.node_id = 1, 1, 1


def check(data: bytes) -> None:
    part, body = (PARTS[data[0] % len(PARTS)], data[1:]) if data else ("values", b"")
    try:
        content = reply(**{part: body})
    except Exception:  # noqa: BLE001  Flower itself could not read it, so it never comes to us
        return
    judge(content)


def judge(content: RecordDict) -> None:
    """Two honest nodes and a stranger: he counts or not, and the round goes well."""
    replies = Replies(SCHEMA, 3)
    for node in HONEST:
        replies.take(node, _message(reply()))
    replies.take(STRANGER, _message(content))
    assert (STRANGER in replies.good) != (STRANGER in replies.refused)
    assert not unpickled
    why = replies.refused.get(STRANGER, "")
    assert len(why) <= 2 * LONGEST_REASON
    assert "\n" not in why
    cohort = replies.cohort(1)
    for strategy in (FedAdp(), Robust(FedAdp())):
        try:
            delta, _, notes = stepped(strategy, strategy.init(), cohort)
        except FedadpError:
            assert why == "", "a refused reply must not show"
            continue
        assert bool((notes["weight"] >= 0).all())
        SCHEMA.record(delta, strategy.statistics(cohort))  # the model can be sent on


def reply(
    values: bytes | None = None,
    array: bytes | None = None,
    names: bytes | None = None,
    metrics: bytes | None = None,
) -> RecordDict:
    """An honest reply, but for one part."""
    w = ARRAYS["w"]
    if values is not None:
        w = Array(w.dtype, w.shape, w.stype, values)
    w = _again(w, array)
    held = ArrayRecord({"w": w, "n": ARRAYS["n"]})
    if names is not None:
        ids = {"W": w.object_id, "N": ARRAYS["n"].object_id}
        text = names.decode("utf-8", "replace")
        for short, whole in ids.items():
            text = text.replace(f'"{short}"', f'"{whole}"')
        held = _again(held, text.encode())
    said = _again(MetricRecord({"num-examples": 600, "loss": 0.5}), metrics)
    return RecordDict({"arrays": held, "metrics": said})


def _again(thing: T, body: bytes | None) -> T:
    """As it comes out of Flower's wire format, with another body if one is given."""
    if body is None:
        return thing
    inflate: Callable[..., Any] = type(thing).inflate  # type: ignore[attr-defined]
    return inflate(add_header_to_object_body(body, thing), thing.children)  # type: ignore


def _message(content: RecordDict) -> Message:
    return Message(content, reply_to=Message(RecordDict(), 5, "train"))


def seeds() -> Iterator[bytes]:
    good = reply()
    for content in (good, *(make(good) for make in GARBAGE.values())):
        for record in content.array_records.values():
            if "w" in record:
                yield b"\0" + record["w"].data
                yield b"\1" + bytes(get_object_body(record["w"].deflate(), Array))
        for metrics in content.metric_records.values():
            yield b"\3" + bytes(get_object_body(metrics.deflate(), MetricRecord))
    for names in ({"w": "W", "n": "N"}, {"w": "N", "n": "W"}, {"w": "W"}, {}):
        yield b"\2" + json.dumps(names).encode()
    yield b"\0" + Array(np.asfortranarray(torch.ones(2, 3).numpy())).data
