"""How good a model is on examples that no node holds."""

from __future__ import annotations

import copy

import torch
from torch import Tensor, nn

from fedadp.core import Examples
from fedadp.flat import Flat
from fedadp.local import Loss, cross_entropy
from fedadp.loop import Round
from fedadp.parallel import Crew, cores

BATCH = 200  # larger ones leave the cache


class Evaluator:
    """Scores rounds on all cores: the same bits, however many there are."""

    def __init__(
        self,
        module: nn.Module,
        examples: Examples,
        loss: Loss = cross_entropy,
        *,
        workers: int | None = None,
    ) -> None:
        x, y = examples.x, examples.y
        self._batches = list(zip(torch.split(x, BATCH), torch.split(y, BATCH), strict=True))
        self._loss = loss
        self._crew = Crew(lambda: Flat(copy.deepcopy(module).eval()), workers or cores())

    def __call__(self, now: Round) -> dict[str, float]:
        """Accuracy and mean loss."""

        @torch.no_grad()
        def part(flat: Flat, batch: tuple[Tensor, Tensor]) -> tuple[int, int, float]:
            x, y = batch
            flat.lay_over(now.params)
            flat.write_buffers(now.buffers)
            output = flat.module(x)
            right = int((output.argmax(dim=1) == y).sum())
            return len(y), right, float(self._loss(output, y)) * len(y)

        sizes, rights, losses = zip(*self._crew.map(part, self._batches), strict=True)
        total = sum(sizes)
        return {"accuracy": sum(rights) / total, "loss": sum(losses) / total}
