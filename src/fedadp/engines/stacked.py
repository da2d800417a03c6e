"""One step of many nodes at once: their parameters stacked, their losses side by side."""

from __future__ import annotations

import copy
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.func import functional_call, grad_and_value, vmap

from fedadp.core import Examples, Instructions
from fedadp.engines.softmax import is_plain, is_softmax_regression
from fedadp.flat import Flat
from fedadp.local import Descent, Loss, cross_entropy

CPU = torch.device("cpu")
Stepper = Callable[[Tensor, Tensor], Tensor]  # x (k, B, ...) and y (k, B) to losses (k,)
Stacker = Callable[[Descent], Stepper]  # trains the parameters (k, ...) where they lie


def stacker(module: nn.Module, loss: Loss, device: torch.device = CPU) -> Stacker:
    """How to train many copies of this module together."""
    # a copy of its own: torch.func puts parameters into the module, so no two threads may share it
    flat = Flat(copy.deepcopy(module).to(device).train())
    return (
        linear if is_softmax_regression(module) and loss is cross_entropy else _mapped(flat, loss)
    )


def can_be_stacked(module: nn.Module, loss: Loss, examples: Examples) -> bool:
    """Whether copies of this module can be trained together: seen by trying."""
    if any(True for _ in module.buffers()):  # each node's own would have to be stacked, too
        return False
    parameters = [p.detach()[None].clone() for p in Flat(module).parameters]
    step = stacker(module, loss)(Descent(parameters, Instructions(round=1)))
    try:
        step(Flat(module).cast(examples.x[None, :2]), examples.y[None, :2])
    except Exception:  # noqa: BLE001  torch.func says no in many ways
        return False
    return True


def _mapped(flat: Flat, loss: Loss) -> Stacker:
    """Any module that torch.func can map over."""

    def one(params: tuple[Tensor, ...], x: Tensor, y: Tensor) -> Tensor:
        return loss(functional_call(flat.module, dict(zip(flat.names, params, strict=True)), x), y)

    gradients_and_losses = vmap(grad_and_value(one))

    def stepper(descent: Descent) -> Stepper:
        def step(x: Tensor, y: Tensor) -> Tensor:
            gradients, losses = gradients_and_losses(tuple(descent.parameters), x, y)
            descent.step(gradients)
            return losses  # type: ignore[no-any-return]

        return step

    return stepper


def linear(descent: Descent) -> Stepper:
    """Softmax regression: batched products that go straight into the weights."""
    weight, bias = descent.parameters  # (k, C, F), (k, C)
    told = descent.told
    plain = is_plain(told)
    rate = told.learning_rate
    minus_one = weight.new_tensor(-1.0)

    def step(x: Tensor, y: Tensor) -> Tensor:
        x = x.flatten(2)  # (k, B, F)
        logits = torch.baddbmm(bias[:, None], x, weight.mT)  # (k, B, C)
        slope = torch.log_softmax(logits, dim=2)
        place = y[:, :, None]
        losses = slope.gather(2, place).mean(dim=(1, 2)).neg()
        slope.exp_().scatter_add_(2, place, minus_one.expand(place.shape))
        slope /= x.shape[1]  # d loss / d logits
        if plain:
            weight.baddbmm_(slope.mT, x, alpha=-rate)
            bias.sub_(slope.sum(dim=1), alpha=rate)
        else:
            descent.step([torch.bmm(slope.mT, x), slope.sum(dim=1)])
        return losses

    return step
