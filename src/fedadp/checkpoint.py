"""A round on disk: a safetensors file, written whole or not at all, never a pickle.

The one before is kept beside it: where the newest is damaged, work goes on from there.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load, save
from torch import Tensor

from fedadp.atomic import sync_folder, write_aside
from fedadp.errors import RunError, reason
from fedadp.loop import Round
from fedadp.states import bits, pack, unpack

FORMAT = "fedadp checkpoint 1"
FAILURES = (  # of reading what may be anything: also numbers, and brackets, without end
    OSError, SafetensorError, KeyError, ValueError, TypeError, AttributeError, OverflowError,
    RecursionError,
)  # fmt: skip
log = logging.getLogger("fedadp")


class Checkpoint(NamedTuple):
    """What a checkpoint holds: undamaged, though perhaps of another experiment."""

    path: Path
    head: dict[str, Any]
    tensors: dict[str, Tensor]

    def round(self, template: Any) -> Round:
        """The round; `template` is the strategy's first state."""
        try:
            state = unpack(template, self.head["state"], "state", self.tensors)
            number, tensors = int(self.head["number"]), self.tensors
            return Round(number, tensors["params"], tensors["buffers"], state)
        except FAILURES as error:
            raise _unusable(self.path, error) from error


def generations(path: Path) -> tuple[Path, Path]:
    """The newest checkpoint, and the one before."""
    return path, path.with_stem(f"{path.stem}.previous")


def is_kept(path: Path) -> bool:
    """Whether there is any."""
    return any(file.exists() for file in generations(path))


def save_round(
    path: Path, now: Round, digest: str, settings: Mapping[str, Any] | None = None
) -> None:
    """Make this round the newest; the settings say what experiment the digest is of."""
    tensors = {"params": now.params, "buffers": now.buffers}
    state = pack(now.state, "state", tensors)
    head = {"format": FORMAT, "experiment": digest, "number": now.number, "state": state}
    if settings is not None:
        head["settings"] = json.loads(json.dumps(settings, default=str))
    # copies, for safetensors takes no two tensors that share memory
    plain = {
        name: torch.clone(t, memory_format=torch.contiguous_format) for name, t in tensors.items()
    }
    head["sha256"] = _sum(head, plain)
    newest, previous = generations(path)
    new = write_aside(newest, save(plain, {"fedadp": json.dumps(head)}))
    if newest.exists():  # a process that dies after this line leaves the one before
        newest.replace(previous)
    new.replace(newest)
    sync_folder(path.parent)


def _sum(head: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> str:
    """Of all that a checkpoint says."""
    words = {key: value for key, value in head.items() if key != "sha256"}
    total = hashlib.sha256(json.dumps(words, sort_keys=True).encode())
    for name in sorted(tensors):
        dtype, shape, memory = bits(tensors[name])
        total.update(f"{name} {dtype} {list(shape)}".encode())
        total.update(memory)
    return total.hexdigest()


def load_round(path: Path, template: Any, digest: str) -> Round:
    """The newest usable round of this experiment."""
    found = newest(path)
    if found is None:
        raise RunError(f"{path}: there is no checkpoint; give the place of one")
    if found.head["experiment"] != digest:
        raise RunError(f"{path}: belongs to another experiment; start over, or elsewhere")
    return found.round(template)


def newest(path: Path) -> Checkpoint | None:
    """The newest checkpoint that is whole, if any; a damaged one is put aside."""
    there = [file for file in generations(path) if file.exists()]
    troubles = []
    for file in there:
        try:
            found = read(file)
        except RunError as error:
            troubles.append(error)
            continue
        if troubles:
            # out of the way, or it would take the place of the one that is whole
            there[0].replace(path.with_stem(f"{path.stem}.damaged"))
            log.warning(
                "%s; the one before is used, of round %d", troubles[0], found.head["number"]
            )
        return found
    if troubles:
        raise RunError(f"{troubles[0]}; start over with --restart") from troubles[0]
    return None


def read(path: Path) -> Checkpoint:
    """A checkpoint that is whole: whatever else may be there is one sentence."""
    head = read_head(path)
    try:
        tensors = load(path.read_bytes())
        if head["sha256"] != _sum(head, tensors):
            raise RunError(f"{path}: damaged, for its checksum is another")
        head["number"], head["experiment"]
    except FAILURES as error:
        raise _unusable(path, error) from error
    return Checkpoint(path, head, tensors)


def read_head(path: Path) -> dict[str, Any]:
    """What a checkpoint says of itself, without its tensors."""
    try:
        with safe_open(path, "pt") as file:
            head: dict[str, Any] = json.loads(file.metadata()["fedadp"])
        known = head["format"] == FORMAT
    except FAILURES as error:
        raise _unusable(path, error) from error
    if not known:
        raise RunError(f"{path}: written as {head['format']!r}, not {FORMAT!r}")
    return head


def _unusable(path: Path, error: Exception) -> RunError:
    return RunError(f"{path}: not a usable checkpoint ({reason(error)})")
