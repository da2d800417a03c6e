"""The same experiment in Flower's simulation and here; and a Flower app with one new line."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from fedadp import FedAdp, open_run
from fedadp.checkpoint import load_round, read_head

EXPERIMENT = """
rounds = 3
strategy = "fedadp"
model = "mlr"
data = "mnist"
partition = { name = "paper", iid = 3, skewed = 3, classes = 1, examples = 200 }
training = { batch_size = 32, learning_rate = 0.01, decay = 0.995, participation = 4 }
"""
APP = Path(__file__).parent / "quickstart"


def last_round(folder):
    path = folder / "checkpoint.safetensors"
    return load_round(path, FedAdp().init(), read_head(path)["experiment"])


def test_an_experiment_file_gives_the_same_bits_on_flower(fedadp, tmp_path, mnist):
    file = tmp_path / "mlr.toml"
    file.write_text(EXPERIMENT)
    ended = {}
    for engine in ("sequential", "flower"):
        out = tmp_path / engine
        run = fedadp("run", file, "--set", f"engine={engine}", "--out", out, stderr=subprocess.PIPE)
        _, said = run.communicate(timeout=240)
        assert run.returncode == 0, said
        (folder,) = (path.parent for path in out.rglob("checkpoint.safetensors"))
        ended[engine] = last_round(folder), open_run(folder).records
    (here, records), (there, others) = ended["sequential"], ended["flower"]
    assert [record["nodes"] for record in others] == [record["nodes"] for record in records]
    assert [record["weight"] for record in others] == [record["weight"] for record in records]
    assert (here.params - there.params).abs().max() <= 1e-6
    assert torch.equal(here.params, there.params)
    assert here.number == there.number == 3


@pytest.mark.parametrize("line", [None, "from fedadp.flower import FedAdp as FedAvg"])
def test_flowers_quickstart_runs_unchanged_but_for_one_line(tmp_path, mnist, line):
    stock = "from flwr.serverapp.strategy import FedAvg"
    for name in ("task.py", "client_app.py", "server_app.py", "simulate.py"):
        text = (APP / name).read_text()
        if name == "server_app.py":
            assert stock in text
            text = text.replace(stock, line or stock)
        (tmp_path / name).write_text(text)
    environment = {
        **os.environ, "FLWR_HOME": str(tmp_path / "home"), "FLWR_TELEMETRY_ENABLED": "0",
        "FLWR_DISABLE_UPDATE_CHECK": "1", "RAY_USAGE_STATS_ENABLED": "0",
        "MNIST": str(mnist), "PYTHONPATH": str(tmp_path),
    }  # fmt: skip
    run = subprocess.run(
        [sys.executable, "simulate.py"], cwd=tmp_path, env=environment, capture_output=True,
        text=True, timeout=240, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    first, *_, last = json.loads((tmp_path / "accuracy.json").read_text())
    assert last > first
