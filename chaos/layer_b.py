"""Layer B: a whole deployment with TLS and keys, whose processes are killed and frozen."""

from __future__ import annotations

import json
import math
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from chaos.app import DEADLY_ROUND, DYING, POISONER, make
from chaos.deeds import Deeds
from chaos.ledger import BrokenError, demand
from fedadp.checkpoint import read_head
from fedadp.deploy.processes import end, marked

NODES, ROUNDS = 4, 8
MOST_SECONDS = 560.0
DEEDS = (
    "SuperNode 1 killed", "SuperNode 3 frozen", "SuperNode 3 goes on", "SuperLink killed",
    "ServerApp killed",
)  # fmt: skip
Say = Callable[[str], None]


def layer_b(seed: int, folder: Path, say: Say) -> dict[str, Any]:
    """One run to its end through all of it; figures, or a BrokenError."""
    place = make(folder / "app", seed, NODES, ROUNDS)
    out, said = folder / "deployed", folder / "said.txt"
    begin = shown = time.monotonic()
    most = 0
    deeds = Deeds(place, say)
    with said.open("w") as log:
        up = subprocess.Popen(
            [
                sys.executable, "-m", "fedadp", "flower", "up", str(place.app), "--nodes",
                str(NODES), "--out", str(out),
            ],
            stdout=log, stderr=log, env={**os.environ, "COLUMNS": "200"},
        )  # fmt: skip
    try:
        while up.poll() is None:
            done = len(_records(out))
            if "ServerApp killed" not in deeds.done:
                most = done
            deeds.after(done)
            time.sleep(0.1)
            now = time.monotonic()
            if now - shown > 15:
                shown = now
                say(f"layer B, {now - begin:.0f} s: {done} of {ROUNDS} rounds")
            if now - begin > MOST_SECONDS:
                raise BrokenError(f"not at its end after {MOST_SECONDS:g} s\n{said.read_text()}")
        left = list(marked(place.path))
    finally:
        if up.poll() is None:
            up.send_signal(signal.SIGTERM)
            up.wait(timeout=90)
        end(place.path)
    text = said.read_text()
    if up.returncode:
        raise BrokenError(f"`fedadp flower up` ended with {up.returncode}\n{text}")
    if left:
        raise BrokenError(f"processes {left} are left")
    if missing := [name for name in DEEDS if name not in deeds.done]:
        raise BrokenError(f"never done: {missing}\n{text}")
    return {
        "seconds": round(time.monotonic() - begin, 1),
        "deeds": deeds.done,
        **_judged(out, text, most),
    }


def _judged(out: Path, text: str, most: int) -> dict[str, Any]:
    """What must hold at the end; `most` rounds were seen done when the ServerApp was killed."""
    records = _records(out)
    numbers = [record["round"] for record in records]
    demand(numbers == list(range(1, ROUNDS + 1)), len(records), f"rounds are {numbers}")
    kept = read_head(out / "checkpoint.safetensors")["number"]
    demand(kept == ROUNDS, ROUNDS, f"the checkpoint is of round {kept}")
    before: dict[str, Any] = {}
    for record in records:
        _check(record, before)
        before = record
    first, last = records[0], records[-1]
    demand(sorted(first["nodes"]) == [0, 1, 3], 1, f"counts {first['nodes']}")
    again = {node for record in records[DEADLY_ROUND + 1 :] for node in record["nodes"]}
    demand({1, DYING} <= again, ROUNDS, f"only {sorted(again)} ever came back")
    demand(str(DYING) in records[DEADLY_ROUND - 1]["refused"], DEADLY_ROUND, "a dead node counts")
    demand(last["accuracy"] > first["accuracy"], ROUNDS, "nothing was learnt")
    resumed = [int(number) for number in re.findall(r"goes on, after round (\d+)", text)]
    demand(len(resumed) == 1, ROUNDS, f"went on {len(resumed)} times, not once")
    lost = most - resumed[0]
    demand(lost <= 1, resumed[0], f"{lost} rounds were lost with the ServerApp")
    return {
        "rounds": ROUNDS,
        "abandoned": sum("abandoned" in record for record in records),
        "refused": {str(record["round"]): record["refused"] for record in records},
        "accuracy": [record["accuracy"] for record in records],
        "rounds lost": lost,
        "starts over": re.findall(r"^(\S+ .*); starts again in", text, re.MULTILINE),
    }


def _check(record: dict[str, Any], before: dict[str, Any]) -> None:
    number, nodes = record["round"], record["nodes"]
    demand(POISONER not in nodes, number, "counts a node that sends NaN")
    both = {str(node) for node in nodes} & record["refused"].keys()
    demand(not both, number, f"counts and refuses {both}")
    if "abandoned" in record:
        demand(not nodes, number, "was abandoned, but has nodes")
        same = record["accuracy"] == before.get("accuracy")
        demand(number == 1 or same, number, "was abandoned, but changed the model")
        return
    weights = record["weight"]
    demand(all(math.isfinite(w) and w >= 0 for w in weights), number, f"weights {weights}")
    demand(abs(math.fsum(weights) - 1) < 1e-9, number, f"weights sum to {math.fsum(weights)}")


def _records(out: Path) -> list[dict[str, Any]]:
    try:
        lines = (out / "metrics.jsonl").read_bytes().splitlines(keepends=True)
    except OSError:
        return []
    return [json.loads(line) for line in lines if line.endswith(b"\n")]
