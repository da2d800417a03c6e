"""A real deployment: TLS, keys, one node killed, one that sends NaN; and nothing left behind."""

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from fedadp.deploy.init import write_app
from fedadp.deploy.place import Place
from fedadp.deploy.processes import marked

POISONED = '''
"""Trains as it is told; but node 2 sends NaN."""

from pathlib import Path

import numpy as np
from flwr.app import Array
from flwr.clientapp import ClientApp

from fedadp.flower import node_app

honest = node_app(Path(__file__).with_name("experiment.toml"))
app = ClientApp()


@app.query("hello")
def hello(message, context):
    return honest(message, context)


@app.train()
def train(message, context):
    reply = honest(message, context)
    if context.node_config["partition-id"] == 2:
        arrays = next(iter(reply.content.array_records.values()))
        for name, array in arrays.items():
            arrays[name] = Array(np.full_like(array.numpy(), np.nan))
    return reply
'''
OWN = '''

@dataclass(frozen=True)
class Own(Source):
    """A hundred examples of a node's own."""

    def load(self) -> Dataset:
        whole = Mnist().load()
        few = type(whole.train)(whole.train.x[:100], whole.train.y[:100])
        return Dataset("own", few, whole.test, whole.classes)
'''
SITE = 'name = "St. Nowhere"\ndata = "app.task:Own"\n'
# however many rounds are abandoned meanwhile, the fourth that counts is the last
CHANGES = (
    "strategy=fedadp", "model=mlr", "rounds=60", "target=0.83", "engine.quorum.min_nodes=3",
    "engine.quorum.max_abandoned=60",
)  # fmt: skip


@pytest.fixture
def place(tmp_path, mnist):
    write_app(tmp_path / "app")
    package = tmp_path / "app" / "app"
    (package / "client.py").write_text(POISONED)
    (package / "task.py").write_text((package / "task.py").read_text() + OWN)
    (tmp_path / "app" / "sites").mkdir()
    (tmp_path / "app" / "sites" / "2.toml").write_text(SITE)
    return Place(tmp_path / "app")


def wait_for(said: Path, words, child, seconds=300):
    end = time.monotonic() + seconds
    while words not in said.read_text():
        assert child.poll() is None, said.read_text()
        assert time.monotonic() < end, said.read_text()
        time.sleep(0.2)


def supernode(place, role):
    """The process itself, not what it started."""
    for pid in marked(place.path, role):
        if b"flower-supernode" in Path(f"/proc/{pid}/cmdline").read_bytes():
            return pid
    raise AssertionError(f"{role} is not there")


def status(fedadp, place):
    asked = fedadp("flower", "status", place.app, "--json", stdout=subprocess.PIPE)
    return json.loads(asked.communicate()[0])


def test_a_killed_node_and_a_node_that_sends_nan_do_not_stop_it(fedadp, place, tmp_path):
    said = tmp_path / "said.txt"
    changes = [word for change in CHANGES for word in ("--set", change)]
    with said.open("w") as out:
        up = fedadp("flower", "up", place.app, *changes, stdout=out, stderr=out)
    wait_for(said, "round 1 of 60", up)
    os.kill(supernode(place, "node-1"), signal.SIGKILL)
    found = status(fedadp, place)
    assert (found["up"], found["server"], found["run"]["status"]) == (True, True, "running")
    assert found["nodes"]["registered"] == 3
    assert found["rounds"]["done"] >= 1
    assert up.wait(timeout=600) == 0, said.read_text()
    text = said.read_text()
    assert "node-1 was killed by signal 9; starts again" in text
    assert "node 2 (St. Nowhere): left out of this round; its update is not finite" in text
    lines = (place.runs / "deployment" / "metrics.jsonl").read_text().splitlines()
    records = [json.loads(line) for line in lines]
    assert records[0]["nodes"] == records[-1]["nodes"] == [0, 1]
    without = [record for record in records if record["nodes"] == []]  # half of three is two
    assert without
    assert all("1" in record["refused"] and record["abandoned"] for record in without)
    assert {record["accuracy"] for record in without} == {records[0]["accuracy"]}
    assert all(record["refused"]["2"] == "its update is not finite" for record in records)
    assert records[-1]["accuracy"] > records[0]["accuracy"]
    assert list(marked(place.path)) == []
    ended = status(fedadp, place)
    assert (ended["up"], ended["processes"], ended["server"]) == (False, 0, False)
    assert ended["run"]["status"] == "finished:completed"


def test_down_ends_a_deployment_from_another_shell(fedadp, place, tmp_path):
    said = tmp_path / "said.txt"
    with said.open("w") as out:
        up = fedadp("flower", "up", place.app, "--set", "strategy=fedadp", stdout=out, stderr=out)
    wait_for(said, "is submitted", up)
    assert len(list(marked(place.path))) >= 5
    down = fedadp("flower", "down", place.app, stdout=subprocess.PIPE)
    assert down.communicate()[0] == "the deployment has ended\n"
    assert up.wait(timeout=60) == 128 + signal.SIGTERM
    assert "Traceback" not in said.read_text()
    assert list(marked(place.path)) == []


@pytest.mark.parametrize(
    ("changes", "code", "why"),
    [
        (["rounds=x"], 4, "the run is finished:failed"),
        (
            ["engine.quorum.min_nodes=9", "engine.quorum.timeout=5"], 3,
            "of 9 that may take part came within 5 s",
        ),
    ],
)  # fmt: skip
def test_a_run_that_fails_is_told_in_the_exit_code(fedadp, place, changes, code, why):
    words = [word for change in changes for word in ("--set", change)]
    up = fedadp(
        "flower",
        "up",
        place.app,
        "--nodes",
        1,
        *words,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    _, complained = up.communicate(timeout=300)
    assert up.returncode == code, complained
    assert complained.splitlines()[-1].startswith("fedadp: ")
    assert why in complained
    assert list(marked(place.path)) == []
