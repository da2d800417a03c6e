"""Softmax regression, node by node, as one compiled loop: a node's weights stay in the cache.

A batched product would gather every batch first, and stream all nodes' weights through memory at
every step. Here a node's examples are read where they lie, five at a time.
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


def can_descend(
    examples: Examples, told: Instructions, params: Tensor, classes: int, orders: Tensor
) -> bool:
    """Whether the loop below can do it; PyTorch says what is wrong with labels out of range."""
    x, y = examples.x, examples.y
    fits = x.dtype == params.dtype and x.dtype in COMPILED and x.is_contiguous()
    lowest, highest = y[orders].aminmax()
    known = int(lowest) >= 0 and int(highest) < classes
    return fits and known and is_plain(told) and compiled(_descend, any_order=True) is not None


def descend(
    block: Tensor,
    params: Tensor,
    examples: Examples,
    orders: Tensor,
    counts: list[int],
    told: Instructions,
) -> tuple[Tensor, Tensor]:  # (k,), (k,)
    """Train a node in each row of the block (k, P), as `params + row`.

    The mean losses come back, and each row's sum. `orders` (k, longest) are places among the
    examples.
    """
    flat, step, _ = flat_rows(block)
    size = told.batch_size or max(counts)
    steps = [told.steps or told.epochs * math.ceil(n / (told.batch_size or n)) for n in counts]
    losses, sums = np.empty(len(counts)), np.empty(len(counts))
    inputs = examples.x[0].numel()
    classes = len(params) // (inputs + 1)
    # on cache lines, as PyTorch's memory is; classes go in pairs, and the last may be nobody's
    weights = torch.zeros((classes + classes % 2) * inputs, dtype=params.dtype)
    loop = compiled(_descend, any_order=True)
    loop(
        flat, step, params.numpy(), examples.x.view(-1).numpy(), examples.y.numpy(),
        orders.numpy(), np.array(counts), np.array(steps), size,
        params.numpy().dtype.type(told.learning_rate), weights.numpy(), losses, sums,
    )  # fmt: skip
    return torch.from_numpy(losses), torch.from_numpy(sums)


def _descend(  # type: ignore[no-untyped-def]
    flat, stride, params, x, y, orders, counts, steps, size, rate, weights, losses, sums
):
    inputs = len(x) // len(y)
    classes = len(params) // (inputs + 1)
    zero, flats = rate - rate, classes * inputs
    slopes = np.zeros((size + 4, classes + 1), x.dtype)  # logits, then slopes; room for a last five
    bias = np.empty(classes, x.dtype)
    at = np.empty(size + 4, np.int64)
    for k in range(len(counts)):
        weights[:flats], bias[:] = params[:flats], params[flats:]
        count, total, seen = counts[k], 0.0, 0
        per_epoch = (count + size - 1) // size
        for step in range(steps[k]):
            epoch, place = step // per_epoch, step % per_epoch
            begin = epoch * count + place * size
            batch = orders[k, begin : min(begin + size, (epoch + 1) * count)]
            rows = len(batch)
            for i in range(rows + 4):
                at[i] = batch[min(i, rows - 1)] * inputs
            for i in range(0, rows, 5):  # ten sums at a time, in registers
                x0, x1 = x[at[i] : at[i] + inputs], x[at[i + 1] : at[i + 1] + inputs]
                x2, x3 = x[at[i + 2] : at[i + 2] + inputs], x[at[i + 3] : at[i + 3] + inputs]
                x4 = x[at[i + 4] : at[i + 4] + inputs]
                for c in range(0, classes, 2):
                    u = weights[c * inputs : (c + 1) * inputs]
                    v = weights[(c + 1) * inputs : (c + 2) * inputs]
                    u0 = u1 = u2 = u3 = u4 = v0 = v1 = v2 = v3 = v4 = zero
                    for j in range(inputs):
                        u0 += u[j] * x0[j]
                        u1 += u[j] * x1[j]
                        u2 += u[j] * x2[j]
                        u3 += u[j] * x3[j]
                        u4 += u[j] * x4[j]
                        v0 += v[j] * x0[j]
                        v1 += v[j] * x1[j]
                        v2 += v[j] * x2[j]
                        v3 += v[j] * x3[j]
                        v4 += v[j] * x4[j]
                    slopes[i, c], slopes[i + 1, c], slopes[i + 2, c] = u0, u1, u2
                    slopes[i + 3, c], slopes[i + 4, c] = u3, u4
                    slopes[i, c + 1], slopes[i + 1, c + 1], slopes[i + 2, c + 1] = v0, v1, v2
                    slopes[i + 3, c + 1], slopes[i + 4, c + 1] = v3, v4
            for i in range(rows):  # the loss, and its slope in the logits times the rate
                slope, label, mass = slopes[i, :classes], y[batch[i]], 0.0
                for c in range(classes):
                    slope[c] += bias[c]
                peak, own = slope.max(), slope[label]
                for c in range(classes):
                    slope[c] = math.exp(slope[c] - peak)
                    mass += slope[c]
                total += math.log(mass) + peak - own
                for c in range(classes):
                    slope[c] *= rate / (mass * rows)
                slope[label] -= rate / rows
            slopes[rows:] = zero
            slopes[:, classes] = zero
            seen += rows
            for i in range(rows):
                for c in range(classes):
                    bias[c] -= slopes[i, c]
            for i in range(0, rows, 5):  # one step down, five examples for each write
                x0, x1 = x[at[i] : at[i] + inputs], x[at[i + 1] : at[i + 1] + inputs]
                x2, x3 = x[at[i + 2] : at[i + 2] + inputs], x[at[i + 3] : at[i + 3] + inputs]
                x4 = x[at[i + 4] : at[i + 4] + inputs]
                for c in range(0, classes, 2):
                    u = weights[c * inputs : (c + 1) * inputs]
                    v = weights[(c + 1) * inputs : (c + 2) * inputs]
                    u0, u1, u2 = slopes[i, c], slopes[i + 1, c], slopes[i + 2, c]
                    u3, u4 = slopes[i + 3, c], slopes[i + 4, c]
                    v0, v1, v2 = slopes[i, c + 1], slopes[i + 1, c + 1], slopes[i + 2, c + 1]
                    v3, v4 = slopes[i + 3, c + 1], slopes[i + 4, c + 1]
                    for j in range(inputs):
                        u[j] -= u0 * x0[j] + u1 * x1[j] + u2 * x2[j] + u3 * x3[j] + u4 * x4[j]
                        v[j] -= v0 * x0[j] + v1 * x1[j] + v2 * x2[j] + v3 * x3[j] + v4 * x4[j]
        losses[k] = total / seen
        row, whole = flat[k * stride : k * stride + len(params)], 0.0
        for j in range(flats):
            row[j] = weights[j] - params[j]
            whole += row[j]
        for c in range(classes):
            row[flats + c] = bias[c] - params[flats + c]
            whole += row[flats + c]
        sums[k] = whole
