"""A strategy's state as plain data and tensors, and back: nothing that runs code when read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any

import torch
from torch import Tensor

from fedadp.errors import RunError


def pack(value: Any, name: str, tensors: dict[str, Tensor]) -> Any:
    """The plain part of a state; its tensors are put aside by name."""
    if isinstance(value, Tensor):
        if name in tensors:
            raise RunError(f"{name}: two tensors of a state have this name; rename a key")
        tensors[name] = value
        return None
    if is_dataclass(value):
        parts = {f.name: getattr(value, f.name) for f in fields(value)}
        return {key: pack(part, f"{name}.{key}", tensors) for key, part in parts.items()}
    if isinstance(value, Mapping):
        return [[_key(k, name), pack(part, f"{name}.{k}", tensors)] for k, part in value.items()]
    if isinstance(value, tuple | list):
        return [pack(part, f"{name}.{i}", tensors) for i, part in enumerate(value)]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise RunError(
        f"{name}: a {type(value).__name__} cannot be kept in a checkpoint; a strategy's state is "
        "made of tensors, numbers, texts, tuples, mappings and frozen dataclasses"
    )


def _key(key: Any, name: str) -> int | str:
    if isinstance(key, int | str):
        return key
    kind = type(key).__name__
    raise RunError(f"{name}: a {kind} cannot be a key in a checkpoint; use whole numbers or texts")


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


def comes_back(state: Any, template: Any) -> bool:
    """Whether a state can be had again from what is kept of it, given the strategy's first one."""
    tensors: dict[str, Tensor] = {}
    again: dict[str, Tensor] = {}
    try:
        packed = pack(state, "state", tensors)
    except RecursionError:
        return False
    try:
        repacked = pack(unpack(template, packed, "state", tensors), "state", again)
    except (RunError, KeyError, ValueError, TypeError, AttributeError):
        return False
    return json.dumps(packed) == json.dumps(repacked) and tensors.keys() == again.keys()


def same_bits(one: Any, other: Any) -> bool:
    """Whether two states are made of the same bits."""
    ours: dict[str, Tensor] = {}
    theirs: dict[str, Tensor] = {}
    left, right = json.dumps(pack(one, "", ours)), json.dumps(pack(other, "", theirs))
    if left != right or ours.keys() != theirs.keys():
        return False
    return all(bits(ours[name]) == bits(theirs[name]) for name in ours)


def bits(tensor: Tensor) -> tuple[torch.dtype, torch.Size, bytes]:
    memory = tensor.detach().reshape(-1).contiguous().view(torch.uint8).numpy()
    return tensor.dtype, tensor.shape, memory.tobytes()
