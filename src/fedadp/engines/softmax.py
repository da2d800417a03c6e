"""Softmax regression, node by node, as one compiled loop: a node's weights stay in the cache.

A batched product would gather every batch first, and stream all nodes' weights through memory at
every step. Here a node's examples are read where they lie, four at a time.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor, nn

from fedadp.compiled import COMPILED, compiled
from fedadp.core import Examples, Instructions
from fedadp.kernels import flat_rows


def is_softmax_regression(module: nn.Module) -> bool:
    """Whether this is multinomial logistic regression, whose gradient is known."""
    layers = list(module) if isinstance(module, nn.Sequential) else [module]
    if layers and isinstance(layers[0], nn.Flatten):
        layers = layers[1:]
    one = len(layers) == 1 and type(layers[0]) is nn.Linear and layers[0].bias is not None
    return one and all(p.requires_grad for p in module.parameters())


def is_plain(told: Instructions) -> bool:
    """Whether nodes are told to take nothing but gradient steps."""
    return told == replace(told, momentum=0.0, weight_decay=0.0, proximal=0.0)


def can_descend(examples: Examples, told: Instructions, params: Tensor, classes: int) -> bool:
    """Whether the loop below can do it; PyTorch says what is wrong with labels out of range."""
    x, y = examples.x, examples.y
    fits = x.dtype == params.dtype and x.dtype in COMPILED and x.is_contiguous()
    known = bool(((y >= 0) & (y < classes)).all())
    return fits and known and is_plain(told) and compiled(_descend, any_order=True) is not None


def descend(
    block: Tensor,
    params: Tensor,
    examples: Examples,
    orders: Tensor,
    counts: list[int],
    told: Instructions,
) -> Tensor:  # (k,)
    """Train a node in each row of the block (k, P), as `params + row`; the mean losses come back.

    `orders` (k, longest) are places among the examples.
    """  # fmt: skip
    flat, step, _ = flat_rows(block)
    size = told.batch_size or max(counts)
    steps = [told.steps or told.epochs * math.ceil(n / (told.batch_size or n)) for n in counts]
    losses = np.empty(len(counts))
    loop = compiled(_descend, any_order=True)
    loop(
        flat, step, params.numpy(), examples.x.view(-1).numpy(), examples.y.numpy(),
        orders.numpy(), np.array(counts), np.array(steps), size,
        params.numpy().dtype.type(told.learning_rate), losses,
    )  # fmt: skip
    return torch.from_numpy(losses)


def _descend(flat, stride, params, x, y, orders, counts, steps, size, rate, losses):  # type: ignore[no-untyped-def]
    inputs = len(x) // len(y)
    classes = len(params) // (inputs + 1)
    zero = rate - rate
    slopes = np.empty((size + 3, classes), x.dtype)  # logits, then slopes; room for a last four
    for k in range(len(counts)):
        weights = flat[k * stride : k * stride + len(params)]
        weights[:] = params
        bias = weights[classes * inputs :]
        count, total, seen = counts[k], 0.0, 0
        per_epoch = (count + size - 1) // size
        for step in range(steps[k]):
            epoch, place = step // per_epoch, step % per_epoch
            begin = epoch * count + place * size
            batch = orders[k, begin : min(begin + size, (epoch + 1) * count)]
            rows = len(batch)
            for i in range(0, rows, 4):  # four examples share each read of the weights
                at, last = batch[i] * inputs, rows - 1
                one = x[at : at + inputs]
                at = batch[min(i + 1, last)] * inputs
                two = x[at : at + inputs]
                at = batch[min(i + 2, last)] * inputs
                three = x[at : at + inputs]
                at = batch[min(i + 3, last)] * inputs
                four = x[at : at + inputs]
                for c in range(classes):
                    w = weights[c * inputs : (c + 1) * inputs]
                    a = b = d = e = zero
                    for j in range(inputs):
                        a += w[j] * one[j]
                        b += w[j] * two[j]
                        d += w[j] * three[j]
                        e += w[j] * four[j]
                    slopes[i, c], slopes[i + 1, c] = a + bias[c], b + bias[c]
                    slopes[i + 2, c], slopes[i + 3, c] = d + bias[c], e + bias[c]
            for i in range(rows):  # the loss, and its slope in the logits times the rate
                slope, label, mass = slopes[i], y[batch[i]], 0.0
                peak, own = slope.max(), slope[label]
                for c in range(classes):
                    slope[c] = math.exp(slope[c] - peak)
                    mass += slope[c]
                total += math.log(mass) + peak - own
                for c in range(classes):
                    slope[c] *= rate / (mass * rows)
                slope[label] -= rate / rows
            slopes[rows:] = zero
            seen += rows
            for i in range(0, rows, 4):  # one step down, four examples for each write
                at, last = batch[i] * inputs, rows - 1
                one = x[at : at + inputs]
                at = batch[min(i + 1, last)] * inputs
                two = x[at : at + inputs]
                at = batch[min(i + 2, last)] * inputs
                three = x[at : at + inputs]
                at = batch[min(i + 3, last)] * inputs
                four = x[at : at + inputs]
                for c in range(classes):
                    w = weights[c * inputs : (c + 1) * inputs]
                    a, b, d, e = slopes[i, c], slopes[i + 1, c], slopes[i + 2, c], slopes[i + 3, c]
                    for j in range(inputs):
                        w[j] -= a * one[j] + b * two[j] + d * three[j] + e * four[j]
                    bias[c] -= a + b + d + e
        losses[k] = total / seen
        for j in range(len(params)):
            weights[j] -= params[j]
