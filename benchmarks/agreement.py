"""Whether contestants learnt the same: their models' loss on examples that none was shown."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch

sys.path.append(str(Path(__file__).parent / "shared"))
import torch_models

# Of the loss, and of how far it fell, which is harder to meet by chance. With the same batches, two
# versions of one CNN are up to 8e-5 apart (3e-3 of the fall) after four rounds in float32, and
# 1e-14 in float64.
OF_LOSS = {"ours": 1e-4, "same": 1e-4, "own": 0.05}
OF_FALL = {"ours": 5e-3, "same": 5e-3, "own": 0.05}


def loss(model: str, inputs: Path, params: Path) -> float:
    """The loss of the parameters that a contestant left behind."""
    module = torch_models.build(model).double()
    torch_models.write(module, np.load(params, allow_pickle=False).astype(np.float64))
    x, y = (torch.from_numpy(np.load(inputs / f"{n}.npy")) for n in ("test_x", "test_y"))
    with torch.no_grad():
        return float(torch.nn.functional.cross_entropy(module(x.double()), y))


def judge(entries: dict[str, dict[str, Any]], start: float) -> None:
    """Note for every entry how far its loss is from the plain loop's, and whether that is near."""
    plain = next((_loss(e) for e in entries.values() if e["name"] == "plain"), None)
    for entry in entries.values():
        mine = _loss(entry)
        if plain is None or mine is None:
            continue
        kind = "ours" if entry["role"] == "ours" else entry["batches"]
        apart = abs(mine - plain)
        of_loss, of_fall = apart / plain, apart / abs(start - plain)
        agrees = of_loss <= OF_LOSS[kind] and of_fall <= OF_FALL[kind]
        entry["agreement"] = {"of_loss": of_loss, "of_fall": of_fall, "agrees": agrees}


def _loss(entry: dict[str, Any]) -> float | None:
    return next((one["loss"] for one in entry["repetitions"] if "loss" in one), None)
