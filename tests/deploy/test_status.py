"""What other shells are told of a deployment, and what they may do to it."""

import json
import os
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from fedadp.cli import app as cli
from fedadp.deploy.init import write_app
from fedadp.deploy.place import Place
from fedadp.deploy.processes import mark
from fedadp.deploy.status import rounds, sentences, status

from .test_processes import SLEEP, until


@pytest.fixture
def place(tmp_path):
    write_app(tmp_path / "app")
    return Place(tmp_path / "app")


def flower(*words):
    return CliRunner().invoke(cli, ["flower", *map(str, words)])


def run_folder(folder, lines):
    folder.mkdir(parents=True)
    (folder / "experiment.toml").write_text("rounds = 5\n")
    (folder / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder


def test_a_new_app_is_down(place):
    found = json.loads(flower("status", place.app, "--json").stdout)
    assert found == {
        "up": False, "processes": 0, "server": False, "nodes": None, "run": None, "rounds": None,
    }  # fmt: skip
    assert flower("status", place.app).stdout == "down, 0 processes\n"
    assert flower("down", place.app).stdout == "nothing is up\n"


def test_a_folder_without_an_app_is_told(tmp_path):
    for command in ("status", "up", "down"):
        said = flower(command, tmp_path)
        assert said.exit_code == 2
        assert f"fedadp: {tmp_path}: holds no Flower app; go to its folder" in said.stderr


def test_rounds_are_read_from_the_run_folder(tmp_path):
    lines = [{"round": 1, "accuracy": 0.5}, {"round": 2, "accuracy": None, "abandoned": "x"}]
    folder = run_folder(tmp_path / "run", lines)
    with (folder / "metrics.jsonl").open("a") as out:
        out.write('{"round": 3, "accu')  # a line that is being written
    found = rounds(folder)
    assert found == {
        "done": 2, "of": 5, "abandoned": 1, "accuracy": 0.5, "folder": str(folder),
    }  # fmt: skip
    assert rounds(tmp_path) is None


def test_what_the_last_deployment_came_to_is_kept(place):
    place.make()
    folder = run_folder(place.runs / "deployment", [{"round": 1, "accuracy": 0.25}])
    place.note(run=2**63 + 7, status="finished:failed", details="it broke", folder=str(folder))
    lines = sentences(status(place.app))
    assert lines[1] == f"run {2**63 + 7}: finished:failed (it broke)"
    assert lines[2] == f"rounds: 1 of 5, accuracy 25.00%, in {folder}"


def test_processes_without_an_owner_are_orphans_and_end(place):
    place.make()
    child = subprocess.Popen(SLEEP, env={**os.environ, **mark(place.path, "node-0")})
    until(lambda: status(place.app)["processes"] == 1)
    said = flower("status", place.app).stdout
    assert "down, 1 process left behind; `fedadp flower down` ends them" in said
    assert flower("down", place.app).stdout == "ended 1 process left behind\n"
    assert child.wait() != 0


def test_another_process_with_the_same_number_is_left_alone(place):
    place.make()
    child = subprocess.Popen(SLEEP)
    try:
        facts = json.dumps({"pid": child.pid, "born": "1"})
        (place.path / "state.json").write_text(facts)
        assert place.owner() is None
        assert flower("down", place.app).stdout == "nothing is up\n"
        assert child.poll() is None
    finally:
        child.kill()
        child.wait()


def test_down_ends_its_owner_first(place):
    place.make()
    code = (
        "import sys, time; from pathlib import Path; from fedadp.deploy.place import Place\n"
        "place = Place(Path(sys.argv[1])); place.note(); print('up', flush=True); time.sleep(600)"
    )
    words = [sys.executable, "-c", code, str(place.app)]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as owner:
        assert owner.stdout.readline() == b"up\n"
        assert status(place.app)["up"]
        assert place.owner() == owner.pid
        assert flower("down", place.app).stdout == "the deployment has ended\n"
        assert owner.wait() == -15


def test_only_one_deployment_at_a_time(place):
    with place.held():
        said = flower("up", place.app)
    assert said.exit_code == 2
    assert "a deployment is up already" in said.stderr


def test_the_state_is_for_nobody_else(place):
    place.make()
    assert place.path.stat().st_mode & 0o777 == 0o700
    assert (place.path / ".gitignore").read_text() == "*\n"


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--set", "rounds"], "--set: 'rounds' is not possible"),
        (["--nodes", "65"], "--nodes: 65 is not possible"),
        (["--pki", "nowhere"], "nowhere/ca.crt: missing; make it with `fedadp flower pki`"),
    ],
)
def test_what_cannot_be_deployed_is_told_before_anything_starts(place, words, why):
    said = flower("up", place.app, *words)
    assert said.exit_code == 2
    assert why in said.stderr
    assert status(place.app)["processes"] == 0
