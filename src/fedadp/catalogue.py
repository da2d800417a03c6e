"""What there is to choose from by name, with a line for each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fedadp.data import PARTITIONS, SOURCES
from fedadp.models import MODELS
from fedadp.runtime import ENGINES
from fedadp.strategies import STRATEGIES

KINDS: dict[str, Mapping[str, Any]] = {
    "strategies": STRATEGIES,
    "models": MODELS,
    "data": SOURCES,
    "partitions": PARTITIONS,
    "engines": ENGINES,
}


def catalogue() -> dict[str, dict[str, str]]:
    return {
        kind: {name: _line(thing) for name, thing in kinds.items()} for kind, kinds in KINDS.items()
    }


def _line(thing: Any) -> str:
    return str(thing.__doc__ or "").strip().splitlines()[0]
