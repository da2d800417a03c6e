"""How good a model is on examples that no node holds."""

from __future__ import annotations

import copy

import torch
from torch import Tensor, nn

from fedadp.core import Examples
from fedadp.dice import Dice
from fedadp.errors import ModelError, reason
from fedadp.flat import Flat
from fedadp.local import Loss, cross_entropy
from fedadp.loop import Round
from fedadp.parallel import Crew, cores
from fedadp.randomness import address

BATCH = 200  # larger ones leave the cache


class Evaluator:
    """Scores rounds on all cores: the same bits, however many there are."""

    def __init__(
        self,
        module: nn.Module,
        examples: Examples,
        loss: Loss = cross_entropy,
        *,
        seed: int = 0,
        workers: int | None = None,
        device: str = "cpu",
    ) -> None:
        _try_out(module, examples)
        x, y = examples.x.to(device), examples.y.to(device)
        self._batches = list(zip(torch.split(x, BATCH), torch.split(y, BATCH), strict=True))
        self._device = torch.device(device)
        self._loss, self._seed, self._dice = loss, seed, Dice()
        crew = (workers or cores()) if device == "cpu" else 1
        self._crew = Crew(lambda: Flat(copy.deepcopy(module).to(device).eval()), crew)

    def __call__(self, now: Round) -> dict[str, float]:
        """Accuracy and mean loss."""
        params, buffers = now.params.to(self._device), now.buffers.to(self._device)

        @torch.no_grad()
        def part(flat: Flat, place: int) -> tuple[int, int, float]:
            x, y = self._batches[place]
            flat.lay_over(params)
            flat.write_buffers(buffers)
            with self._dice.at(address(self._seed, "evaluation", now.number, place)):
                output = flat.module(flat.cast(x))
                loss = float(self._loss(output, y))
            return len(y), int((output.argmax(dim=1) == y).sum()), loss * len(y)

        places = range(len(self._batches))
        parts = self._dice.settled(lambda: self._crew.map(part, places))
        sizes, rights, losses = zip(*parts, strict=True)
        total = sum(sizes)
        return {"accuracy": sum(rights) / total, "loss": sum(losses) / total}


def _try_out(module: nn.Module, examples: Examples) -> None:
    """Complain early about a model whose output does not fit the labels."""
    flat, highest = Flat(copy.deepcopy(module).eval()), int(examples.y.max())
    try:
        with torch.no_grad(), torch.random.fork_rng(devices=[]):
            output = flat.module(flat.cast(examples.x[:2]))
    except (Exception, SystemExit) as error:
        shape = tuple(examples.x.shape[1:])
        raise ModelError(
            f"model: it cannot take inputs of shape {shape} ({reason(error)}); it must fit the data"
        ) from error
    if not isinstance(output, Tensor):
        raise ModelError(
            f"model: its output is a {type(output).__name__}, not a tensor; "
            "it needs one output per class"
        )
    if output.dim() != 2 or output.shape[1] <= highest:
        raise ModelError(
            f"model: its output has shape {tuple(output.shape[1:])}, but labels go up to {highest};"
            " it needs one output per class"
        )
