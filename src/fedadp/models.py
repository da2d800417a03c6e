"""The paper's models, and anybody's own by `module:attribute`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy

from fedadp.errors import ModelError, SettingError, nearest, reason
from fedadp.flat import Flat
from fedadp.hints import Strict
from fedadp.places import fetch_by_place
from fedadp.randomness import address


def mlr(shape: Sequence[int], classes: int) -> nn.Module:
    """Multinomial logistic regression: 7,850 parameters on 28 x 28 images."""
    return nn.Sequential(nn.Flatten(), nn.Linear(_numel(shape), classes))


def cnn(shape: Sequence[int], classes: int) -> nn.Module:
    """The paper's CNN with the parameters it states: 1,663,370, convolutions padded."""
    return _cnn(shape, classes, padding=2)


def cnn_valid(shape: Sequence[int], classes: int) -> nn.Module:
    """The paper's CNN with the layers it lists: 582,026 parameters, convolutions not padded."""
    return _cnn(shape, classes, padding=0)


class ChannelsLast(nn.Module):
    """Images pixel by pixel, not plane by plane: on a CPU, pooling them is ten times faster.

    >>> ChannelsLast()(torch.zeros(8, 1, 28, 28)).stride()
    (784, 1, 28, 1)
    """

    def forward(self, x: Tensor) -> Tensor:  # (B, C, H, W)
        x = x.contiguous(memory_format=torch.channels_last)
        if x.shape[1] == 1:  # both layouts are the same bytes, and PyTorch goes by the strides
            _, _, height, width = x.shape
            x = x.as_strided(x.shape, (height * width, 1, width, 1))
        return x


def _cnn(shape: Sequence[int], classes: int, padding: int) -> nn.Module:
    if len(shape) != 3 or min(shape[1:]) < 16:
        raise ModelError(
            f"model: a CNN takes images of 16 x 16 and more, not inputs of shape {tuple(shape)}"
        )
    channels, *sides = shape
    for _ in range(2):
        sides = [(side - 4 + 2 * padding) // 2 for side in sides]
    # ReLU after the pooling: the same values and gradients as before it, for a quarter of the work
    return nn.Sequential(
        ChannelsLast(),
        nn.Conv2d(channels, 32, 5, padding=padding),
        nn.MaxPool2d(2),
        nn.ReLU(),
        nn.Conv2d(32, 64, 5, padding=padding),
        nn.MaxPool2d(2),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(64 * sides[0] * sides[1], 512),
        nn.ReLU(),
        nn.Linear(512, classes),
    )


def _numel(shape: Sequence[int]) -> int:
    return int(torch.Size(shape).numel())


MODELS: dict[str, Callable[[Sequence[int], int], nn.Module]] = {
    "mlr": mlr,
    "cnn": cnn,
    "cnn-valid": cnn_valid,
}


SMALL = 2**15  # parameters: above, a step's arithmetic hides its overhead


@dataclass(frozen=True)
class Model(Strict):
    """Which model to train: one of the paper's, or your own as "module:attribute"."""

    name: str = "cnn"
    args: Mapping[str, Any] = field(default_factory=dict)  # for your own

    def __post_init__(self) -> None:
        if ":" not in self.name and self.name not in MODELS:
            way = nearest(self.name, MODELS)
            raise SettingError(
                "name", f"unknown model {self.name!r}{way} or your own 'module:class'"
            )
        if self.args and self.name in MODELS:
            raise SettingError("args", f"{self.name!r} takes none; leave them out")

    def build(self, shape: Sequence[int], classes: int, seed: int) -> nn.Module:
        """The module, with the initial parameters that belong to this seed."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(address(seed, "model"))
            module = self._make(shape, classes)
        if any(is_lazy(tensor) for tensor in [*module.parameters(), *module.buffers()]):
            raise ModelError(
                f"model {self.name!r}: its layers have no sizes yet, being lazy; give them sizes"
            )
        flat = Flat(module)
        for what, values in (("parameters", flat.read()), ("statistics", flat.read_buffers())):
            if not torch.isfinite(values).all():
                raise ModelError(
                    f"model {self.name!r}: its initial {what} are not all finite; mend how they "
                    "are initialised"
                )
        return module

    @property
    def small(self) -> bool:
        """Whether it is worth training many copies of it together."""
        if self.name in MODELS:
            return self.name == "mlr"
        with torch.random.fork_rng(devices=[]):
            return Flat(self._make((), 0)).size <= SMALL

    def _make(self, shape: Sequence[int], classes: int) -> nn.Module:
        if self.name in MODELS:
            return MODELS[self.name](shape, classes)
        try:
            make = fetch_by_place(self.name)
            if isinstance(make, nn.Module):
                raise TypeError("it is made already, so that no seed can have its own")
            made = make(**self.args)
        except Exception as error:  # anybody's module may raise anything
            raise ModelError(
                f"model.name: {self.name!r} cannot be made ({reason(error)}); it names an "
                "importable module and, in it, what makes a torch.nn.Module of model.args"
            ) from error
        if not isinstance(made, nn.Module):
            raise ModelError(f"model.name: {self.name!r} gives {made!r}, not a torch.nn.Module")
        return made
