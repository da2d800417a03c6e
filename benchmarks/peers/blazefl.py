"""BlazeFL: two threads ("threads"), or one client after the other ("single")."""

from __future__ import annotations

from collections import Counter

import torch
import torch_models
from blazefl.contrib import fedavg
from torch.utils.data import DataLoader, TensorDataset
from work import Answer, Work, given


class Selector:
    def select_model(self, model_name: str) -> torch.nn.Module:
        return torch_models.build(model_name)


class Nodes:
    """Every node's examples; the loader's order is the workload's."""

    def __init__(self, work: Work) -> None:
        self._work, self._done = work, Counter()
        tensors = ((torch.from_numpy(a) for a in work.node(i)) for i in range(work["nodes"]))
        self._sets = [TensorDataset(*pair) for pair in tensors]

    def get_dataloader(self, type_, cid, batch_size, generator):
        order = self._work.order[self._done[cid], cid].tolist()
        self._done[cid] += 1
        return DataLoader(self._sets[cid], batch_size, sampler=order)


def main() -> None:
    work = given()
    answer = Answer(work.spec)
    nodes, model, threads = Nodes(work), work["model"], work["variant"] == "threads"
    torch.set_num_threads(1 if threads else work["threads"])
    common = {
        "model_selector": Selector(), "model_name": model, "dataset": nodes, "device": "cpu",
        "num_clients": work["nodes"], "batch_size": work["batch"], "seed": 0,
    }  # fmt: skip
    server = fedavg.FedAvgBaseServerHandler(**common, global_round=work["rounds"], sample_ratio=1.0)
    torch_models.write(server.model, work.params)
    local = {**common, "epochs": 1, "lr": work["rate"]}
    if threads:
        trainer = fedavg.FedAvgThreadPoolClientTrainer(**local, num_parallels=2)
    else:
        trainer = fedavg.FedAvgBaseClientTrainer(**local)
    answer.start()
    while not server.if_stop():
        trainer.local_process(server.downlink_package(), server.sample_clients())
        for package in trainer.uplink_package():
            server.load(package)
        answer.lap()
    answer.end(torch_models.read(server.model))


main()
