"""Models that draw random numbers: PyTorch has one generator per process, so they take turns."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import torch

T = TypeVar("T")


class Dice:
    """Finds out whether a model draws random numbers, and then gives each use an address."""

    def __init__(self) -> None:
        self.used = False
        self._turn = threading.Lock()

    def settled(self, attempt: Callable[[], T]) -> T:
        """The work, done again with addressed randomness if it turns out to draw."""
        before = torch.get_rng_state()
        result = attempt()
        if self.used or torch.equal(before, torch.get_rng_state()):
            return result
        torch.set_rng_state(before)
        self.used = True
        return attempt()

    @contextmanager
    def at(self, address: int) -> Iterator[None]:
        """Whatever is drawn inside belongs to this address; costs nothing where nothing is."""
        if not self.used:
            yield
            return
        with self._turn, torch.random.fork_rng(devices=[]):
            torch.manual_seed(address)
            yield
