"""A plain PyTorch loop: one node after the other."""

from __future__ import annotations

import torch
import torch_models
from work import Answer, given


def main() -> None:
    work = given()
    answer = Answer(work.spec)
    torch.set_num_threads(work["threads"])
    x, y, order = (torch.from_numpy(array) for array in (work.x, work.y, work.order.astype("i8")))
    module, params = torch_models.build(work["model"]), torch.from_numpy(work.params)
    each, nodes = work["each"], work["nodes"]
    answer.start()
    for now in range(work["rounds"]):
        total = torch.zeros_like(params)
        for node in range(nodes):
            torch_models.write(module, params)
            rows = slice(node * each, (node + 1) * each)
            torch_models.train(
                module, x[rows], y[rows], order[now, node], work["batch"], work["rate"]
            )
            total += torch_models.read(module) / nodes  # all hold as many examples
        params = total
        answer.lap()
    answer.end(params)


main()
