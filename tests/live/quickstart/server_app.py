"""A Flower / PyTorch app: the server."""

import json
from pathlib import Path

import torch
from flwr.app import ArrayRecord, ConfigRecord, Context
from flwr.serverapp import Grid, ServerApp
from flwr.serverapp.strategy import FedAvg
from task import Net

app = ServerApp()


@app.main()
def main(grid: Grid, context: Context) -> None:
    torch.manual_seed(0)
    arrays = ArrayRecord(Net().state_dict())
    strategy = FedAvg(fraction_train=1.0, fraction_evaluate=1.0)
    result = strategy.start(
        grid=grid,
        initial_arrays=arrays,
        train_config=ConfigRecord({"lr": 0.05}),
        num_rounds=3,
    )
    state_dict = result.arrays.to_torch_state_dict()
    torch.save(state_dict, "final_model.pt")
    scores = result.evaluate_metrics_clientapp
    Path("accuracy.json").write_text(json.dumps([scores[n]["eval_acc"] for n in sorted(scores)]))
