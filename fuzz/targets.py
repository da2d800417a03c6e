"""The four readers that are fuzzed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

TARGETS = ("reply", "checkpoint", "experiment", "idx")
FINDINGS = Path(__file__).parent / "findings"


@dataclass(frozen=True)
class Target:
    """One reader, and what a fuzzer begins with."""

    name: str
    check: Callable[[bytes], None]  # raises where the reader breaks its promise
    seeds: Callable[[], Iterator[bytes]]
    words: tuple[bytes, ...]

    @property
    def findings(self) -> list[Path]:
        """What a fuzzer found once; tests read it ever after."""
        return sorted((FINDINGS / self.name).glob("*"))


def target(name: str) -> Target:
    module = import_module(f"fuzz.{name}")
    return Target(name, module.check, module.seeds, module.WORDS)
