"""How nodes train, and who takes part: the same for every strategy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from fedadp.core import Instructions
from fedadp.errors import require
from fedadp.hints import Strict
from fedadp.randomness import few_of, generator

SMALLEST_RATE = 1e-300
MOST_EPOCHS, MOST_STEPS = 10_000, 1_000_000  # of a round: more does not end
MOST_EXAMPLES = 2**31  # in a batch


@dataclass(frozen=True, kw_only=True)
class Training(Strict):
    """How nodes train: what they are told in every round."""

    epochs: int = 1
    steps: int | None = None  # instead of epochs
    batch_size: int = 32  # 0: all examples at once
    learning_rate: float = 0.01
    decay: float = 0.995  # of the learning rate, per round
    momentum: float = 0.0
    weight_decay: float = 0.0
    proximal: float = 0.0
    participation: float | int = 1.0  # a fraction of the nodes, or a number of them

    def __post_init__(self) -> None:
        require(
            1 <= self.epochs <= MOST_EPOCHS,
            "epochs",
            self.epochs,
            f"1 and more, at most {MOST_EPOCHS}",
        )
        steps, size = self.steps, self.batch_size
        possible = steps is None or 1 <= steps <= MOST_STEPS
        require(possible, "steps", steps, f"1 and more, at most {MOST_STEPS}")
        wanted = f"1 and more, at most {MOST_EXAMPLES}, or 0 for all at once"
        require(0 <= size <= MOST_EXAMPLES, "batch_size", size, wanted)
        rate = self.learning_rate
        require(0 < rate < float("inf"), "learning_rate", rate, "a number above 0")
        require(0 < self.decay <= 1, "decay", self.decay, "a number above 0, at most 1")
        require(0 <= self.momentum < 1, "momentum", self.momentum, "a number from 0 up and below 1")
        for name in ("weight_decay", "proximal"):
            value = getattr(self, name)
            require(0 <= value < float("inf"), name, value, "a number from 0 up")
        part = self.participation
        possible = part >= 1 if isinstance(part, int) else 0 < part <= 1
        wanted = "a fraction above 0.0 and up to 1.0, or a whole number of nodes"
        require(possible, "participation", part, wanted)

    def at(self, round: int, seed: int) -> Instructions:  # noqa: A002
        """The instructions of one round."""
        return Instructions(
            round=round,
            seed=seed,
            # never 0, however many rounds: gradients are updates divided by it
            learning_rate=max(self.learning_rate * self.decay ** (round - 1), SMALLEST_RATE),
            epochs=self.epochs,
            steps=self.steps,
            batch_size=self.batch_size or None,
            momentum=self.momentum,
            weight_decay=self.weight_decay,
            proximal=self.proximal,
        )

    def sample(self, nodes: Sequence[int], round: int, seed: int) -> tuple[int, ...]:  # noqa: A002
        """Who takes part in a round."""
        part = self.participation
        count = part if isinstance(part, int) else max(1, int(part * len(nodes) + 0.5))
        require(
            count <= len(nodes), "training.participation", part, f"at most all {len(nodes)} nodes"
        )
        if count == len(nodes):
            return tuple(sorted(nodes))
        draw = generator(seed, "sampling", round)
        if count * 300 < len(nodes):  # a round takes as long as its participants need, not all
            chosen = few_of(count, len(nodes), draw)
        else:
            chosen = torch.randperm(len(nodes), generator=draw)[:count].tolist()
        return tuple(sorted(nodes[i] for i in chosen))
