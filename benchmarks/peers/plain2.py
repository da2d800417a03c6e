"""A plain PyTorch loop in two processes, one thread each, that share the parameters' memory."""

from __future__ import annotations

import torch
import torch.multiprocessing as mp
import torch_models
from torch import Tensor
from work import Answer, Work, given

WORKERS = 2


def serve(work: Work, params: Tensor, rows: Tensor, first: int, pipe: mp.connection.Connection):
    """Train every other node, whenever told to."""
    torch.set_num_threads(1)
    module = torch_models.build(work["model"])
    if work["variant"] == "our model":
        from fedadp.models import MODELS

        module = MODELS[work["model"]]((1, 28, 28), 10)
    order = torch.from_numpy(work.order.astype("i8"))
    while (now := pipe.recv()) is not None:
        for node in range(first, work["nodes"], WORKERS):
            torch_models.write(module, params)
            x, y = map(torch.from_numpy, work.node(node))
            torch_models.train(module, x, y, order[now, node], work["batch"], work["rate"])
            rows[node] = torch_models.read(module)
        pipe.send(now)


def main() -> None:
    work = given()
    answer = Answer(work.spec)
    params = torch.from_numpy(work.params.copy()).share_memory_()
    rows = torch.zeros(work["nodes"], len(params)).share_memory_()
    pipes = []
    for first in range(WORKERS):
        ours, theirs = mp.Pipe()
        job = (work, params, rows, first, theirs)
        mp.get_context("fork").Process(target=serve, args=job, daemon=True).start()
        pipes.append(ours)
    answer.start()
    for now in range(work["rounds"]):
        for pipe in pipes:
            pipe.send(now)
        for pipe in pipes:
            pipe.recv()
        params.copy_(rows.mean(dim=0))
        answer.lap()
    for pipe in pipes:
        pipe.send(None)
    answer.end(params)


main()
