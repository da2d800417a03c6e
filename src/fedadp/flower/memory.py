"""What a lifted strategy remembers from round to round, and keeps in a file."""

from __future__ import annotations

import hashlib
import logging
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from flwr.app import ArrayRecord

from fedadp.checkpoint import is_kept, load_round, save_round
from fedadp.core import Cohort, Strategy
from fedadp.errors import TrainingError
from fedadp.flower.schema import Schema
from fedadp.loop import Round
from fedadp.promises import finite, first_state, stepped

log = logging.getLogger("fedadp")


class Memory:
    """The model as it stands, and the strategy's state."""

    def __init__(self, strategy: Strategy[Any], checkpoint: str | Path | None) -> None:
        self._strategy = strategy
        self._path = None if checkpoint is None else Path(checkpoint)
        self._arrays = ArrayRecord()
        self.schema = Schema(())
        self.now = Round(0, torch.zeros(0), state=first_state(strategy))

    def begin(self, arrays: ArrayRecord) -> ArrayRecord:
        """The arrays to start from: those given, or those of the checkpoint."""
        self.now = Round(0, torch.zeros(0), state=first_state(self._strategy))
        self.hold(0, arrays)
        if self._path is None or not is_kept(self._path):
            return arrays
        self.now = load_round(self._path, first_state(self._strategy), self._digest)
        self._arrays = self.schema.record(self.now.params, self.now.buffers)
        log.info("goes on after round %d, from %s", self.now.number, self._path)
        return self._arrays

    def hold(self, number: int, arrays: ArrayRecord) -> None:
        """These arrays are the model now, whoever made them."""
        if arrays is not self._arrays:
            self.schema, self._arrays = Schema.of_arrays(arrays), arrays
            self.now = Round(number, *self.schema.flatten(arrays), self.now.state)

    def advance(self, number: int, cohort: Cohort) -> ArrayRecord:
        """One step of the model, written to the file before anybody hears of it."""
        delta, state, notes = stepped(self._strategy, self.now.state, cohort)
        geometry = cohort.geometry()
        notes = {"norm": geometry.norms, "angle": geometry.angles, **notes}
        params, statistics = self.now.params + delta, self._strategy.statistics(cohort)
        if not finite(params):
            raise TrainingError(
                f"round {number}: the step led to parameters that are not finite; the model of "
                f"round {self.now.number} is kept, and a smaller learning rate may help"
            )
        self.now = Round(number, params, statistics, state, cohort.nodes, notes)
        self._arrays = self.schema.record(params, statistics)
        self._save()
        return self._arrays

    def skip(self, number: int) -> None:
        """A round that changed nothing is over, too: it is not done again after a crash."""
        self.now = replace(self.now, number=number, nodes=(), notes={})
        self._save()

    def _save(self) -> None:
        if self._path is not None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            save_round(self._path, self.now, self._digest)

    @property
    def _digest(self) -> str:
        words = f"{self._strategy!r} {self.schema.fingerprint}"
        return hashlib.sha256(words.encode()).hexdigest()
