"""The checkpoint loader: any file is a round that one can go on from, or a FedadpError.

After the first byte come a file's bytes, or a checkpoint's head; to a head a checksum that fits can
be added, for whoever writes a checkpoint can do that, too.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

import torch
from safetensors.torch import save

from fedadp.checkpoint import FORMAT, load_round, save_round
from fedadp.checkpoint import _sum as checksum
from fedadp.errors import FedadpError
from fedadp.loop import Round
from fedadp.promises import first_state, stepped
from fedadp.strategies import FedAdp, Momentum
from fedadp.testing.toys import toy_cohort
from fuzz.sentences import one_sentence

RAW, HEAD, SUMMED, MOMENTUM = range(4)
WORDS = (
    b'"format"', b'"experiment"', b'"number"', b'"state"', b'"sha256"', b'"rounds"', b'"nodes"',
    b'"smoothed"', b'"seen"', b'"params"', b'"buffers"', b'"__metadata__"', b'"data_offsets"',
    b'"dtype":"F32"', b'"shape":[', b"Infinity", b"NaN", b"null", b"[[[[[[[[", b"1e999",
    b"fedadp checkpoint 1",
)  # fmt: skip
FILE = Path(tempfile.mkdtemp(prefix="fedadp-fuzz-")) / "checkpoint.safetensors"
NODES = (3, 5, 7)
COHORT = toy_cohort(NODES, size=4)


def check(data: bytes) -> None:
    kind, body = (data[0] % 4, data[1:]) if data else (RAW, b"")
    strategy = Momentum(FedAdp()) if kind == MOMENTUM else FedAdp()
    FILE.write_bytes(body if kind == RAW else _file(body, summed=kind != HEAD))
    try:
        now = load_round(FILE, first_state(strategy), "digest")
        assert isinstance(now.number, int)
        assert isinstance(now.params, torch.Tensor)
        stepped(strategy, now.state, COHORT)
    except FedadpError as error:
        one_sentence(error)


def _file(body: bytes, summed: bool) -> bytes:
    text, tensors = body.decode("utf-8", "replace"), _tensors()
    if summed:
        try:
            head = json.loads(text)
        except (ValueError, RecursionError):
            head = None
        if isinstance(head, dict):
            head["sha256"] = checksum(head, tensors)
            text = json.dumps(head)
    return save(tensors, {"fedadp": text})


def _tensors() -> dict[str, torch.Tensor]:
    state = FedAdp().step(FedAdp().init(), COHORT).state
    own = {f"state.{name}": getattr(state, name) for name in ("nodes", "smoothed", "seen")}
    return {"params": torch.ones(4), "buffers": torch.zeros(0, dtype=torch.float64), **own}


def seeds() -> Iterator[bytes]:
    state = {"rounds": 1, "nodes": None, "smoothed": None, "seen": None}
    head = {"format": FORMAT, "experiment": "digest", "number": 3, "state": state}
    yield bytes([SUMMED]) + json.dumps(head).encode()
    yield bytes([MOMENTUM]) + json.dumps({**head, "state": {"inner": state}}).encode()
    yield bytes([HEAD]) + json.dumps({**head, "sha256": "0" * 64}).encode()
    for strategy in (FedAdp(), Momentum(FedAdp())):
        now = strategy.step(first_state(strategy), COHORT)
        save_round(FILE, Round(3, torch.ones(4), state=now.state), "digest")
        yield bytes([RAW]) + FILE.read_bytes()
