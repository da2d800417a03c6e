"""pfl: two processes that share the nodes, by torch.distributed."""

from __future__ import annotations

import os
import socket
import subprocess
import sys

RANK, ADDRESSES = "PFL_WORKER_RANK", "PFL_WORKER_ADDRESSES"


def second() -> subprocess.Popen[bytes] | None:
    """Start the second process, unless this is it. Before pfl is imported, which connects."""
    if RANK in os.environ:
        return None
    with socket.socket() as probe:
        probe.bind(("localhost", 0))
        port = probe.getsockname()[1]
    os.environ[ADDRESSES] = f"localhost:{port},localhost:{port}"  # only the first is listened on
    other = subprocess.Popen(
        [sys.executable, "-P", *sys.argv],
        env={**os.environ, RANK: "1"},
        stdout=subprocess.DEVNULL,
    )
    os.environ[RANK] = "0"
    return other


OTHER = second()

import numpy as np  # noqa: E402
import torch  # noqa: E402
import torch_models  # noqa: E402
from pfl.aggregate.simulate import SimulatedBackend  # noqa: E402
from pfl.algorithm.base import NNAlgorithmParams  # noqa: E402
from pfl.algorithm.federated_averaging import FederatedAveraging  # noqa: E402
from pfl.callback.base import TrainingProcessCallback  # noqa: E402
from pfl.data.dataset import Dataset  # noqa: E402
from pfl.data.federated_dataset import FederatedDataset  # noqa: E402
from pfl.data.sampling import get_user_sampler  # noqa: E402
from pfl.hyperparam import NNTrainHyperParams  # noqa: E402
from pfl.metrics import Metrics  # noqa: E402
from pfl.model.pytorch import PyTorchModel  # noqa: E402
from work import Answer, given  # noqa: E402


class Clock(TrainingProcessCallback):
    """Ends a lap after every round."""

    def __init__(self, answer: Answer) -> None:
        self.done, self._answer = 0, answer

    def after_central_iteration(self, aggregate_metrics, model, *, central_iteration):
        self.done += 1
        self._answer.lap()
        return False, Metrics()


def main() -> None:
    work = given()
    answer = Answer(work.spec)
    torch.set_num_threads(1)
    module = torch_models.build(work["model"])
    torch_models.write(module, work.params)
    module.loss = lambda x, y: torch.nn.functional.cross_entropy(module.train()(x), y)
    module.metrics = lambda x, y: {}
    central = torch.optim.SGD(module.parameters(), lr=1.0)
    model = PyTorchModel(module, torch.optim.SGD, central)
    clock = Clock(answer)

    def dataset(node: int) -> Dataset:
        """In the order of the round: pfl takes batches as they lie."""
        return Dataset([torch.from_numpy(array) for array in work.shuffled(node, clock.done)])

    sampler = get_user_sampler("minimize_reuse", list(np.arange(work["nodes"])))
    backend = SimulatedBackend(FederatedDataset(dataset, sampler), val_data=None)
    params = NNAlgorithmParams(
        central_num_iterations=work["rounds"],
        evaluation_frequency=work["rounds"] + 1,
        train_cohort_size=work["nodes"],
        val_cohort_size=0,
    )
    local = NNTrainHyperParams(
        local_batch_size=work["batch"], local_num_epochs=1, local_learning_rate=work["rate"]
    )
    answer.start()
    FederatedAveraging().run(params, backend, model, local, callbacks=[clock])
    if OTHER:
        answer.end(torch_models.read(module))
        OTHER.wait()


main()
