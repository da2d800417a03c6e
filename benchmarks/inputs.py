"""What all contestants of a workload are given, written once as arrays without pickle."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from benchmarks.environments import home
from fedadp.core import Instructions
from fedadp.data import ClassSkew, Dataset, Mnist, Synthetic
from fedadp.federation import gather
from fedadp.flat import Flat
from fedadp.local import orders
from fedadp.models import Model

MOST = 60_000  # examples; where nodes hold more together, they share them
SHAPE, CLASSES = (1, 28, 28), 10
SEPARATION = 16.0  # so that the loss falls soon, and a comparison of losses says something


def prepare(kind: str, spec: Mapping[str, Any], rounds: int) -> Path | None:
    """The folder with a workload's arrays; none where contestants make their own."""
    if kind == "aggregate":
        return None
    names = ("model", "nodes", "each", "size")
    told = json.dumps([kind, rounds, SEPARATION, *(spec.get(name) for name in names)])
    folder = home() / "inputs" / hashlib.sha256(told.encode()).hexdigest()[:16]
    if not folder.exists():
        draft = folder.with_suffix(".draft")
        shutil.rmtree(draft, ignore_errors=True)
        draft.mkdir(parents=True)
        for name, array in _make(kind, spec, rounds).items():
            np.save(draft / f"{name}.npy", array.numpy(), allow_pickle=False)
        if kind == "out-of-core":
            _files(draft, spec["nodes"], spec["size"])
        draft.rename(folder)
    return folder


def _make(kind: str, spec: Mapping[str, Any], rounds: int) -> dict[str, Tensor]:
    if kind == "out-of-core":
        return {}
    nodes, each = spec["nodes"], spec["each"]
    if kind == "target":
        dealt = gather(Mnist(), ClassSkew(iid=5, skewed=5, classes=1, examples=each), seed=0)
        held = [dealt.nodes[node] for node in range(nodes)]
        x, y = torch.cat([one.x for one in held]), torch.cat([one.y for one in held])
        test = dealt.test
    else:
        data, rows = _cloud(), slice(0, min(nodes * each, MOST))
        x, y, test = data.train.x[rows], data.train.y[rows], data.test
    batches = 0 if kind == "many" else rounds  # with many nodes, ours draws for itself
    return {
        "x": x,
        "y": y,
        "test_x": test.x,
        "test_y": test.y,
        "order": _order(batches, nodes, each),
        "params": Flat(Model(spec["model"]).build(SHAPE, CLASSES, seed=0)).read(),
    }


@lru_cache(maxsize=1)
def _cloud() -> Dataset:
    """As many random images as MNIST has, in ten classes that overlap."""
    return Synthetic(examples=MOST, shape=SHAPE, classes=CLASSES, separation=SEPARATION).load()


def _order(rounds: int, nodes: int, each: int) -> Tensor:  # (rounds, nodes, each)
    """The order of every node's examples in every round, as `fedadp.local` draws it."""
    told = [Instructions(round=now + 1, batch_size=None) for now in range(rounds)]
    drawn = [orders(each, one, range(nodes)).int() for one in told]
    return torch.stack(drawn) if drawn else torch.empty(0, nodes, each, dtype=torch.int32)


def _files(folder: Path, nodes: int, size: int) -> None:
    """Updates on disk, one file each."""
    from safetensors.numpy import save_file

    rng = np.random.default_rng(0)
    block = rng.standard_normal(1 << 20, dtype=np.float32)
    for node in range(nodes):
        row = np.resize(np.roll(block, node), size)
        save_file({"update": row}, folder / f"{node:02}.safetensors")
