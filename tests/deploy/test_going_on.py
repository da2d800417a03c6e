"""A run whose process died goes on; one that failed of itself does not."""

import json

import pytest

from fedadp.deploy.control import RunState
from fedadp.deploy.place import Place
from fedadp.deploy.up import Deployment, Wanted

DIED = RunState("finished:failed", "No heartbeat received from the task")


@pytest.fixture
def folder(tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    (out / "experiment.toml").write_text("rounds = 9\n")
    return out


def deployment(app, **config):
    return Deployment(Place(app), Wanted(app=app, config=config), lambda _: None)


def finish(folder, rounds):
    lines = [json.dumps({"round": number + 1, "nodes": []}) + "\n" for number in range(rounds)]
    (folder / "metrics.jsonl").write_text("".join(lines))


def test_a_run_that_dies_is_submitted_again_for_as_long_as_it_gets_on(tmp_path, folder):
    one = deployment(tmp_path, out=str(folder))
    for rounds in range(1, 8):
        finish(folder, rounds)
        assert one._goes_on_after(DIED)


def test_a_run_that_dies_and_gets_nowhere_is_given_up(tmp_path, folder):
    one = deployment(tmp_path, out=str(folder))
    finish(folder, 2)
    assert [one._goes_on_after(DIED) for _ in range(4)] == [True, True, True, False]


@pytest.mark.parametrize(
    "state",
    [
        RunState("finished:failed", "ServerApp raised: no such model"),
        RunState("finished:completed", ""),
        RunState("finished:stopped", "No heartbeat received from the task"),
    ],
)
def test_what_did_not_die_is_left_as_it_is(tmp_path, folder, state):
    assert not deployment(tmp_path, out=str(folder))._goes_on_after(state)


def test_an_app_without_a_run_folder_has_nothing_to_go_on_from(tmp_path):
    assert not deployment(tmp_path)._goes_on_after(DIED)
