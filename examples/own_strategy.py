"""A strategy of your own: examined, then run against FedAvg.

    python examples/own_strategy.py

Nodes whose update points away from the average are left out, as in Nguyen et al., "Fast-Convergent
Federated Learning", 2020. docs/adding-a-strategy.md explains it line by line.
"""

import tempfile
from dataclasses import dataclass
from pathlib import Path

import torch

from fedadp import Cohort, Experiment, FedAvg, Model, Training, Weighed, Weighting, data, run
from fedadp.cohort import exact_sum
from fedadp.testing import check_strategy


@dataclass(frozen=True)
class CosineFilter(Weighting[None]):
    """Leave out each node whose update points away from the average."""

    threshold: float = 0.0  # the smallest cosine that is let in

    def init(self) -> None:
        return None

    def weigh(self, state: None, cohort: Cohort) -> Weighed[None]:
        kept = cohort.geometry().cosines >= self.threshold
        parts = torch.where(kept, cohort.shares, 0.0)
        if not kept.any():  # a high threshold can leave nobody
            parts = cohort.shares
        return Weighed(parts / exact_sum(parts), state, {"kept": kept})


def main() -> None:
    check_strategy(CosineFilter())
    print("the exam is passed")
    with tempfile.TemporaryDirectory() as folder:
        for strategy in (FedAvg(), CosineFilter(threshold=0.3)):
            name = type(strategy).__name__
            experiment = Experiment(
                data=data.sources.Synthetic(),
                partition=data.partitions.ClassSkew(iid=3, skewed=5, examples=60),
                model=Model("mlr"),
                training=Training(learning_rate=0.1),
                strategy=strategy,
                rounds=40,
            )
            done = run(experiment, Path(folder, name))
            print(f"{name}: {done.best:.1%} after {done.rounds} rounds")


if __name__ == "__main__":
    main()
