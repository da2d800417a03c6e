"""Who takes part: met once, remembered, and asked again where they failed to say who they are."""

import json
import logging

from torch import nn

from fedadp.engines.inprocess import Workshop
from fedadp.flower.members import recall
from fedadp.flower.node import Seat, client_app
from fedadp.flower.roster import Expected, Roster
from fedadp.flower.schema import Schema
from fedadp.testing.loopback import Faults, Loopback
from fedadp.testing.toys import toy_nodes

MODULE, NODES = nn.Linear(6, 2), toy_nodes()
SHOP = Workshop(MODULE, NODES)


def roster(keep=None, faults=None, base=1000, seat=None):
    app = client_app(seat or (lambda context, _: Seat(context.node_config["n"], "", SHOP)))
    grid = Loopback(app, {base + node: {"n": node} for node in NODES}, faults)
    expected = Expected(Schema.of_module(MODULE).fingerprint, (6,), 2)
    return Roster(grid, expected, strict=False, seconds=10, keep=keep)


def test_a_server_that_comes_back_knows_whom_it_knew(tmp_path):
    file = tmp_path / "roster.json"
    first = roster(file)
    assert first.greet() == set(NODES)
    again = roster(file, Faults(gone=frozenset({1005})))
    assert again.members == first.members
    assert again.greet() == set(NODES) - {5}
    assert again._grid.sent == 0
    assert set(again.members) == set(NODES)


def test_a_node_that_came_back_under_another_id_takes_its_place_after_a_restart(tmp_path):
    file = tmp_path / "roster.json"
    roster(file).greet()
    again = roster(file, base=2000)
    assert again.greet() == set(NODES)
    assert {member.flower for member in again.members.values()} == {2000 + n for n in NODES}


def test_a_roster_for_another_model_or_in_ruins_is_no_roster(tmp_path, caplog):
    file = tmp_path / "roster.json"
    roster(file).greet()
    assert recall(file, "another model") == {}
    whole = file.read_text()
    for ruin in (whole[:-5], "[]", json.dumps({"model": "m", "members": [{"number": 3}]})):
        file.write_text(ruin)
        with caplog.at_level(logging.WARNING, "fedadp"):
            assert recall(file, "m") == {}
        assert "the nodes are met anew" in caplog.text
        caplog.clear()


def test_a_node_that_fails_to_say_who_it_is_is_asked_again_ever_less_often():
    trouble = {"there": True}
    asked = []

    def seat(context, _):
        if context.node_config["n"] == 5:
            asked.append(met._greetings)
            if trouble["there"]:
                raise OSError("no disk")
        return Seat(context.node_config["n"], "", SHOP)

    met = roster(seat=seat)
    for _ in range(20):
        assert met.greet() == set(NODES) - {5}
    assert asked == [1, 2, 4, 8, 16]
    trouble["there"] = False
    while 5 not in met.greet():
        assert met._greetings < 40
    assert asked[-1] == 32


def test_nobody_takes_the_place_of_a_node_that_is_there(tmp_path, caplog):
    """Known from the file alone, and online: who claims its number now is somebody else."""
    file = tmp_path / "roster.json"
    roster(file).greet()
    again = roster(file)
    again._grid._configs[9000] = {"n": 5}
    with caplog.at_level(logging.WARNING, "fedadp"):
        assert again.greet() == set(NODES)
    assert again.members[5].flower == 1005
    assert "it calls itself number 5, as another node does already" in caplog.text


def test_a_node_that_was_mended_is_let_in_without_a_restart():
    broken = {"there": True}

    def seat(context, _):
        number = context.node_config["n"]
        if number == 5 and broken["there"]:
            return Seat(5, "", Workshop(nn.Linear(6, 3), NODES))
        return Seat(number, "", SHOP)

    met = roster(seat=seat)
    assert met.greet() == set(NODES) - {5}
    broken["there"] = False
    assert met.greet() == set(NODES)
