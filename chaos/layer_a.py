"""Layer A: the same storm twice, in one process that is killed again and again, and in one that
is not; both must leave the same bits.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from chaos.ledger import BrokenError, whole
from chaos.memory import slope
from chaos.weather import Crash, crashes
from fedadp.checkpoint import read_head

ROOT = Path(__file__).parents[1]
STEEPEST = 1.0  # kB per round
Say = Callable[[str], None]


@dataclass
class Pass:
    """A run in stretches: each ends with a crash, but for the last."""

    name: str
    folder: Path
    seed: int
    rounds: int
    crashes: list[Crash]
    lost: list[int] = field(default_factory=list)  # rounds, by crash
    child: subprocess.Popen[str] | None = None
    found: dict[str, Any] | None = None

    def begin(self) -> None:
        crash = self.crashes[len(self.lost)] if len(self.lost) < len(self.crashes) else None
        told = {"folder": str(self.folder), "seed": self.seed, "rounds": self.rounds}
        words = json.dumps({**told, "crash": asdict(crash) if crash else None})
        self.child = subprocess.Popen(
            [sys.executable, "-m", "chaos.stretch", words],
            cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            start_new_session=True,  # a Ctrl-C is for us, who end it
        )  # fmt: skip

    def tend(self) -> None:
        """See whether its process has ended, and how; go on, if it was killed as planned."""
        if self.found is not None:
            return
        assert self.child is not None
        if self.child.poll() is None:
            return
        said, complained = self.child.communicate()
        if self.child.returncode == 0:
            self.found = json.loads(said)
            if len(self.lost) != len(self.crashes):
                raise BrokenError(f"{self.name}: {len(self.lost)} of {len(self.crashes)} crashes")
            return
        planned = len(self.lost) < len(self.crashes)
        if self.child.returncode != -signal.SIGKILL or not planned:
            raise BrokenError(f"{self.name}: ended with {self.child.returncode}\n{complained}")
        kept = int(read_head(self.folder / "checkpoint.safetensors")["number"])
        lost, crash = self.begun - kept, self.crashes[len(self.lost)]
        if lost > 1:
            raise BrokenError(f"{self.name}: {lost} rounds lost at {crash}")
        self.lost.append(lost)
        self.begin()

    @property
    def begun(self) -> int:
        file = self.folder.with_suffix(".begun")
        return int(file.read_text() or 0) if file.exists() else 0

    def end(self) -> None:
        if self.child is not None and self.child.poll() is None:
            self.child.kill()
            self.child.communicate()


def layer_a(seed: int, rounds: int, every: int, folder: Path, say: Say) -> dict[str, Any]:
    """Both passes side by side; figures, or a BrokenError."""
    begin = said = time.monotonic()
    calm = Pass("calm", folder / "calm", seed, rounds, [])
    stormy = Pass("stormy", folder / "stormy", seed, rounds, crashes(seed, rounds, every))
    passes = (calm, stormy)
    try:
        for one in passes:
            one.begin()
        while any(one.found is None for one in passes):
            time.sleep(0.05)
            for one in passes:
                one.tend()
            if time.monotonic() - said > 5:
                said = time.monotonic()
                say(f"layer A, {said - begin:.0f} s: {_progress(calm)}, {_progress(stormy)}")
    finally:
        for one in passes:
            one.end()
    assert calm.found is not None
    sums = [whole(one.folder) for one in passes]
    if sums[0] != sums[1]:
        raise BrokenError(f"seed {seed}: {sums[0]} without crashes, {sums[1]} with them")
    growth = slope(calm.found.pop("memory"))
    if growth > STEEPEST and rounds >= 1000:  # fewer tell nothing
        raise BrokenError(f"memory grows by {growth} kB per round")
    return {
        "seconds": round(time.monotonic() - begin, 1),
        **calm.found,
        "crashes": [f"{c.moment} of round {c.round}" for c in stormy.crashes],
        "lost rounds by crash": stormy.lost,
        "kB per round": growth,
        "sha256": sums[0],
    }


def _progress(one: Pass) -> str:
    return f"{one.name} in round {one.begun} of {one.rounds}, {len(one.lost)} crashes"
