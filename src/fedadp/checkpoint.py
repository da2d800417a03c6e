"""A round on disk: one safetensors file, written whole or not at all, never a pickle."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load, save
from torch import Tensor

from fedadp.errors import RunError
from fedadp.loop import Round

FORMAT = "fedadp checkpoint 1"
UNREADABLE = (  # what reading something else may raise: also numbers, and brackets, without end
    OSError, SafetensorError, KeyError, ValueError, TypeError, OverflowError, RecursionError,
)  # fmt: skip


def write_atomically(path: Path, content: bytes) -> None:
    """Under another name, synced, then renamed: a reader sees the old file or the new one."""
    new = path.with_name(f".{path.name}.{os.getpid()}.new")
    with new.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)


def save_round(path: Path, now: Round, digest: str) -> None:
    tensors = {"params": now.params, "buffers": now.buffers}
    state = pack(now.state, "state", tensors)
    head = {"format": FORMAT, "experiment": digest, "number": now.number, "state": state}
    # copies, for safetensors takes no two tensors that share memory
    plain = {
        name: torch.clone(t, memory_format=torch.contiguous_format) for name, t in tensors.items()
    }
    head["sha256"] = _sum(head, plain)
    write_atomically(path, save(plain, {"fedadp": json.dumps(head)}))


def _sum(head: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> str:
    """Of all that a checkpoint says."""
    words = {key: value for key, value in head.items() if key != "sha256"}
    total = hashlib.sha256(json.dumps(words, sort_keys=True).encode())
    for name in sorted(tensors):
        dtype, shape, memory = _bits(tensors[name])
        total.update(f"{name} {dtype} {list(shape)}".encode())
        total.update(memory)
    return total.hexdigest()


def load_round(path: Path, template: Any, digest: str) -> Round:
    """The round in a checkpoint; `template` is the strategy's first state."""
    head = read_head(path)
    try:
        tensors = load(path.read_bytes())
        if head["experiment"] != digest:
            raise RunError(f"{path}: belongs to another experiment; start over, or elsewhere")
        if head["sha256"] != _sum(head, tensors):
            raise RunError(f"{path}: damaged, for its checksum is another; start over")
        state = unpack(template, head["state"], "state", tensors)
        return Round(int(head["number"]), tensors["params"], tensors["buffers"], state)
    except UNREADABLE as error:
        raise RunError(f"{path}: not a usable checkpoint ({error}); start over") from error


def read_head(path: Path) -> dict[str, Any]:
    """What a checkpoint says of itself, without its tensors."""
    try:
        with safe_open(path, "pt") as file:
            head: dict[str, Any] = json.loads(file.metadata()["fedadp"])
        if head["format"] == FORMAT:
            return head
        reason = f"written as {head['format']!r}, not {FORMAT!r}"
    except UNREADABLE as error:
        reason = f"not a usable checkpoint ({error})"
    raise RunError(f"{path}: {reason}; start over with --restart")


def pack(value: Any, name: str, tensors: dict[str, Tensor]) -> Any:
    """The plain part of a state; its tensors are put aside by name."""
    if isinstance(value, Tensor):
        tensors[name] = value
        return None
    if is_dataclass(value):
        parts = {f.name: getattr(value, f.name) for f in fields(value)}
        return {key: pack(part, f"{name}.{key}", tensors) for key, part in parts.items()}
    if isinstance(value, Mapping):
        return [[key, pack(part, f"{name}.{key}", tensors)] for key, part in value.items()]
    if isinstance(value, tuple | list):
        return [pack(part, f"{name}.{i}", tensors) for i, part in enumerate(value)]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise RunError(
        f"{name}: a {type(value).__name__} cannot be kept in a checkpoint; a strategy's state is "
        "made of tensors, numbers, texts, tuples, mappings and frozen dataclasses"
    )


def unpack(template: Any, packed: Any, name: str, tensors: Mapping[str, Tensor]) -> Any:
    """The state again, in the shape of the template."""
    if name in tensors:
        return tensors[name]
    if is_dataclass(template) and not isinstance(template, type):
        parts = {f.name: getattr(template, f.name) for f in fields(template)}
        found = {k: unpack(v, packed[k], f"{name}.{k}", tensors) for k, v in parts.items()}
        return replace(template, **found)
    if isinstance(template, Mapping):
        return {k: unpack(template.get(k), v, f"{name}.{k}", tensors) for k, v in packed}
    if isinstance(packed, list):
        like = template if isinstance(template, tuple | list) else ()
        parts_ = [
            unpack(like[i] if i < len(like) else None, part, f"{name}.{i}", tensors)
            for i, part in enumerate(packed)
        ]
        return type(template)(*parts_) if hasattr(template, "_fields") else tuple(parts_)
    return packed


def same_bits(one: Any, other: Any) -> bool:
    """Whether two states are made of the same bits."""
    ours: dict[str, Tensor] = {}
    theirs: dict[str, Tensor] = {}
    left, right = json.dumps(pack(one, "", ours)), json.dumps(pack(other, "", theirs))
    if left != right or ours.keys() != theirs.keys():
        return False
    return all(_bits(ours[name]) == _bits(theirs[name]) for name in ours)


def _bits(tensor: Tensor) -> tuple[torch.dtype, torch.Size, bytes]:
    memory = tensor.detach().reshape(-1).contiguous().view(torch.uint8).numpy()
    return tensor.dtype, tensor.shape, memory.tobytes()
