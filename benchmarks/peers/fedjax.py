"""FedJAX: compiled clients one after the other ("jit") or on two devices ("pmap")."""

from __future__ import annotations

import os

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2"

import fedjax
import jax
import jax.numpy as jnp
import numpy as np
from fedjax.algorithms.fed_avg import federated_averaging
from work import Answer, given

SHAPES = {
    "mlr": ((10, 784), (10,)),
    "cnn": ((32, 1, 5, 5), (32,), (64, 32, 5, 5), (64,), (512, 3136), (512,), (10, 512), (10,)),
    "cnn-valid": (
        (32, 1, 5, 5), (32,), (64, 32, 5, 5), (64,), (512, 1024), (512,), (10, 512), (10,),
    ),
}  # fmt: skip


def forward(params: list[jax.Array], x: jax.Array, padding: str) -> jax.Array:
    """The textbook's model, with PyTorch's layout of parameters."""
    *layers, weight, bias = params
    if layers:
        for kernel, shift in zip(layers[0:4:2], layers[1:4:2], strict=True):
            x = jax.lax.conv_general_dilated(x, kernel, (1, 1), padding)
            x = jax.nn.relu(x + shift[:, None, None])
            window = (1, 1, 2, 2)
            x = jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, window, window, "VALID")
    x = x.reshape(len(x), -1)
    if layers:
        x = jax.nn.relu(x @ layers[4].T + layers[5])
    return x @ weight.T + bias


def main() -> None:
    work = given()
    answer = Answer(work.spec)
    shapes = SHAPES[work["model"]]
    cuts = np.cumsum([int(np.prod(shape)) for shape in shapes])[:-1]
    pieces = zip(np.split(work.params, cuts), shapes, strict=True)
    params = [jnp.asarray(piece.reshape(shape)) for piece, shape in pieces]
    padding = "VALID" if work["model"] == "cnn-valid" else "SAME"

    def loss(params, batch, rng):
        rows = jax.nn.log_softmax(forward(params, batch["x"], padding))
        losses = -jnp.take_along_axis(rows, batch["y"][:, None], axis=1)[:, 0]
        return losses.mean()

    fedjax.set_for_each_client_backend(work["variant"])
    descent = fedjax.optimizers.sgd(work["rate"])
    batches = fedjax.ShuffleRepeatBatchHParams(
        batch_size=work["batch"], num_epochs=1, drop_remainder=False, seed=0
    )
    algorithm = federated_averaging(jax.grad(loss), descent, fedjax.optimizers.sgd(1.0), batches)
    sets = [
        fedjax.ClientDataset(dict(zip("xy", work.node(node), strict=True)))
        for node in range(work["nodes"])
    ]
    state = algorithm.init(params)
    answer.start()
    for now in range(work["rounds"]):
        keys = jax.random.split(jax.random.PRNGKey(now), len(sets))
        clients = [(str(i), *pair) for i, pair in enumerate(zip(sets, keys, strict=True))]
        state, _ = algorithm.apply(state, clients)
        jax.block_until_ready(state.params)
        answer.lap()
    answer.end(np.concatenate([np.asarray(piece).ravel() for piece in state.params]))


main()
