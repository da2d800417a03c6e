"""From a TOML table to a frozen dataclass and back, strictly.

An unknown key, a wrong type or an impossible value is one sentence: where, what, and the way out.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from types import UnionType
from typing import Any, TypeVar, Union, get_args, get_origin

import numpy as np
from torch import Tensor

from fedadp.errors import SettingError, nearest, reason, show
from fedadp.hints import hints_of, spell
from fedadp.places import fetch_by_place

T = TypeVar("T")
Registry = Mapping[str, type[Any]]
Registries = Mapping[Any, Registry]  # by the base of what they hold
DEEPEST = 8  # of strategies inside strategies


def build(kind: type[T], table: Any, place: str, registries: Registries) -> T:
    """Make a frozen dataclass from a table."""
    if not isinstance(table, dict):
        raise SettingError(place, f"{show(table)} is not possible; it takes a table of settings")
    hints = hints_of(kind)
    known = {f.name: f for f in fields(kind) if f.init}  # type: ignore[arg-type]
    for key in table:
        if key not in known:
            raise SettingError(_join(place, key), f"unknown setting{nearest(key, known)}")
    for name, f in known.items():
        if name not in table and _needed(f):
            raise SettingError(
                _join(place, name), f"missing; it takes {spell(hints.get(name, Any))}"
            )
    values = {
        name: _value(hints.get(name), value, _join(place, name), registries)
        for name, value in table.items()
    }
    try:
        return kind(**values)
    except SettingError as error:
        raise error.under(place) from None
    except Exception as error:  # anybody's class may raise anything
        where = f"{kind.__module__}:{kind.__qualname__}"
        problem = f"{where!r} cannot be made ({reason(error)}); mend it"
        raise SettingError(place, problem) from error


def choose(base: type[Any], value: Any, place: str, registries: Registries) -> Any:
    """Make one of the known kinds from its name, or from a table with its name and settings."""
    registry = registries[base]
    if place.count(".inner") > DEEPEST:
        raise SettingError(place, f"more than {DEEPEST} strategies inside one another; use fewer")
    table = {"name": value} if isinstance(value, str) else value
    if not isinstance(table, dict) or not isinstance(table.get("name"), str):
        known = ", ".join(registry)
        raise SettingError(place, f"{show(value)} is not possible; it takes a name: {known}")
    name = table["name"]
    kind = registry.get(name) or _imported(base, name, place, registry)
    settings = {key: entry for key, entry in table.items() if key != "name"}
    return build(kind, settings, place, registries)


def dump(value: Any, registries: Registries) -> Any:
    """The table that `build` or `choose` would make this value from."""
    if isinstance(value, tuple | list):
        return [dump(entry, registries) for entry in value]
    if isinstance(value, Mapping):
        return {key: dump(entry, registries) for key, entry in value.items()}
    if isinstance(value, np.ndarray | Tensor):
        return fingerprint(value)
    if not is_dataclass(value):
        return value
    entries = {f.name: getattr(value, f.name) for f in fields(value) if f.init}
    table = {k: dump(v, registries) for k, v in entries.items() if v is not None}
    for base, registry in registries.items():
        if isinstance(value, base):
            names = {kind: name for name, kind in registry.items()}
            kind = type(value)
            return {"name": names.get(kind, f"{kind.__module__}:{kind.__qualname__}"), **table}
    return table


def fingerprint(array: Any) -> str:
    """An array, told from any other by a line."""
    values = np.ascontiguousarray(array)
    digest = hashlib.sha256(values.tobytes()).hexdigest()
    return f"{values.dtype} {list(values.shape)} sha256 {digest}"


def _value(hint: Any, value: Any, place: str, registries: Registries) -> Any:
    """What a part's table stands for; a plain value is checked where it becomes a setting."""
    for kind in get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,):
        base = get_origin(kind) or kind
        if base in registries:
            return choose(base, value, place, registries)
        if isinstance(base, type) and is_dataclass(base):
            if isinstance(value, str) and "name" in {f.name for f in fields(base)}:
                value = {"name": value}
            return build(base, value, place, registries)
    return value


def _imported(base: type[Any], name: str, place: str, registry: Registry) -> type[Any]:
    if ":" not in name:
        raise SettingError(place, f"unknown name {name!r}{nearest(name, registry)}")
    try:
        kind = fetch_by_place(name)
    except ImportError as error:
        raise SettingError(
            place, f"{name!r} cannot be imported ({error}); write 'module:Class'"
        ) from error
    if not (isinstance(kind, type) and issubclass(kind, base) and is_dataclass(kind)):
        raise SettingError(place, f"{name!r} is not a frozen dataclass based on {base.__name__}")
    return kind


def _join(place: str, name: str) -> str:
    return f"{place}.{name}" if place else name


def _needed(f: Field[Any]) -> bool:
    return f.default is MISSING and f.default_factory is MISSING
