"""FedLab: its standalone pipeline, clients one after the other."""

from __future__ import annotations

from collections import Counter

import torch

# FedLab imports torchvision for data sets that are not used here. PyPI's has operators for CUDA
# alone, and beside a CPU build of PyTorch it fails unless these are declared.
for name in ("nms", "qnms"):
    torch.library.define(
        f"torchvision::{name}", "(Tensor boxes, Tensor scores, float most) -> Tensor"
    )

import torch_models  # noqa: E402
from fedlab.contrib.algorithm.basic_client import SGDSerialClientTrainer  # noqa: E402
from fedlab.contrib.algorithm.basic_server import SyncServerHandler  # noqa: E402
from fedlab.core.standalone import StandalonePipeline  # noqa: E402
from torch.utils.data import DataLoader, TensorDataset  # noqa: E402
from work import Answer, Work, given  # noqa: E402


class Nodes:
    """Every node's examples; the loader's order is the workload's."""

    def __init__(self, work: Work) -> None:
        self._work, self._done = work, Counter()
        tensors = ((torch.from_numpy(a) for a in work.node(i)) for i in range(work["nodes"]))
        self._sets = [TensorDataset(*pair) for pair in tensors]

    def get_dataloader(self, number: int, batch_size: int) -> DataLoader:
        order = self._work.order[self._done[number], number].tolist()
        self._done[number] += 1
        return DataLoader(self._sets[number], batch_size, sampler=order)


def main() -> None:
    work = given()
    answer = Answer(work.spec)
    torch.set_num_threads(work["threads"])
    module = torch_models.build(work["model"])
    torch_models.write(module, work.params)
    server = SyncServerHandler(module, work["rounds"], sample_ratio=1.0)
    trainer = SGDSerialClientTrainer(torch_models.build(work["model"]), work["nodes"])
    trainer.setup_dataset(Nodes(work))
    trainer.setup_optim(1, work["batch"], work["rate"])

    class Timed(StandalonePipeline):
        def evaluate(self) -> None:
            answer.lap()

    answer.start()
    Timed(server, trainer).main()
    answer.end(server.model_parameters)


main()
