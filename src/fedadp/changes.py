"""What differs between two experiments, setting by setting."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from fedadp.errors import show

MOST = 3  # that a sentence names
ENGINES = {"exact": "'threads' or 'sequential'", "batched": "'batched'"}


def changes(there: Mapping[str, Any], here: Mapping[str, Any]) -> str:
    """The settings that differ, from what to what; the engine last, which may follow from others.

    >>> changes({"seed": 0, "model": {"name": "mlr"}}, {"seed": 5, "model": {"name": "cnn"}})
    "model.name is 'mlr' there and 'cnn' here, seed is 0 there and 5 here"
    """
    if not there:
        return "which one, its file does not say"
    found = list(_differences(there, here, ""))
    settings = [said for name, said in found if name != "engine"]
    said = settings or [said for _, said in found]
    more = len(said) - MOST
    return ", ".join(said[:MOST]) + (f", and {more} more" if more > 0 else "")


def _differences(old: Any, new: Any, place: str) -> Iterator[tuple[str, str]]:
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for key in sorted(old.keys() | new.keys()):
            yield from _differences(old.get(key), new.get(key), f"{place}.{key}".lstrip("."))
    elif old != new:
        was, is_ = (_shown(value, place) for value in (old, new))
        yield place, f"{place} is {was} there and {is_} here"


def _shown(value: Any, place: str) -> str:
    if place == "engine":
        return ENGINES.get(str(value), show(value))
    return "not set" if value is None else show(value)
