"""What must hold after every round, checked against the fates that the grid deals out."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from safetensors.numpy import load_file

from chaos.weather import ATTACKERS, FIRST_ID
from fedadp.checkpoint import read_head
from fedadp.quorum import Quorum
from fedadp.testing.faults import Faults


class BrokenError(AssertionError):
    """An invariant that does not hold, and where."""


def demand(holds: bool, number: int, what: str) -> None:
    if not holds:
        raise BrokenError(f"round {number}: {what}")


class Ledger:
    """Compares what a run says of each round with what the seed says."""

    def __init__(self, faults: Faults, quorum: Quorum, folder: Path) -> None:
        self._faults, self._quorum, self._folder = faults, quorum, folder
        self._before = ("", "")  # digests of model and angles
        self._abandoned = False
        self.counts: Counter[str] = Counter()
        self.attack = 0.0  # the largest weight of all attackers together

    def begins(self, number: int, asked: tuple[int, ...]) -> None:
        """Before a round: all that went before is on disk, and an abandoned round left no trace."""
        self._asked = asked
        if number == 1:
            return
        kept = read_head(self._folder / "checkpoint.safetensors")["number"]
        demand(kept == number - 1, number, f"begins, while round {kept} is the last on disk")
        now = model_and_angles(self._folder)
        if self._abandoned:
            demand(now[0] == self._before[0], number - 1, "was abandoned, but changed the model")
            demand(now[1] == self._before[1], number - 1, "was abandoned, but changed the angles")
        elif self._before != ("", ""):
            demand(now[0] != self._before[0], number - 1, "counted, but did not change the model")
        self._before = now

    def ends(self, record: Mapping[str, Any]) -> None:
        """After a round: exactly the replies that came as they were sent have counted."""
        number, nodes = record["round"], tuple(record["nodes"])
        arrived = tuple(sorted(node for node in self._asked if self._arrives(number, node)))
        enough = len(arrived) >= self._quorum.needed(len(self._asked))
        self._abandoned = "abandoned" in record
        self.counts["rounds"] += 1
        self.counts["offline"] += sum(why == "it is offline" for why in record["refused"].values())
        left = set(self._asked) - set(arrived)
        demand({int(n) for n in record["refused"]} == left, number, "names others than it left out")
        demand(self._abandoned != enough, number, f"{len(arrived)} replies were good")
        if self._abandoned:
            demand(nodes == (), number, "abandoned, but has nodes")
            self.counts["abandoned"] += 1
            return
        demand(nodes == arrived, number, f"counts {nodes}, but {arrived} sent something good")
        weights = record["weight"]
        demand(len(weights) == len(nodes), number, "has not one weight per node")
        demand(all(math.isfinite(w) and w >= 0 for w in weights), number, f"weights {weights}")
        demand(abs(math.fsum(weights) - 1) < 1e-9, number, f"weights sum to {math.fsum(weights)}")
        weight = sum(w for node, w in zip(nodes, weights, strict=True) if node in ATTACKERS)
        self.counts["attacks"] += len(set(nodes) & set(ATTACKERS))
        if number > 20:  # an angle needs some rounds to be told
            self.attack = max(self.attack, weight)

    def _arrives(self, number: int, node: int) -> bool:
        flower = FIRST_ID + node
        fate = self._faults.fate("train", number, flower)
        return fate.arrives and not self._faults.offline(number, flower)


def model_and_angles(folder: Path) -> tuple[str, str]:
    """Digests of what is on disk: of the model, and of what the strategy remembers."""
    model, angles = hashlib.sha256(), hashlib.sha256()
    for name, values in sorted(load_file(folder / "checkpoint.safetensors").items()):
        where = angles if name.startswith("state") else model
        where.update(f"{name} {values.dtype} {values.shape}".encode() + values.tobytes())
    return model.hexdigest(), angles.hexdigest()


def whole(folder: Path) -> str:
    """One SHA-256 of all that a run leaves behind: model, angles, and the metrics of each round."""
    digest = hashlib.sha256("".join(model_and_angles(folder)).encode())
    digest.update((folder / "metrics.jsonl").read_bytes())
    return digest.hexdigest()
