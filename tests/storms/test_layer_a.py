"""The storm of `make chaos`, for as long as a test may take; and that its books can be wrong."""

import pytest

from chaos.layer_a import layer_a
from chaos.ledger import BrokenError, Ledger
from chaos.memory import slope
from chaos.weather import MOMENTS, NODES, crashes, experiment, faults


def test_a_storm_with_crashes_leaves_the_same_bits_as_one_without(tmp_path):
    said = []
    found = layer_a(seed=23, rounds=40, every=20, folder=tmp_path, say=said.append)
    assert found["rounds"] == 40
    assert found["lost rounds by crash"] == [1]
    for fault in ("dropped", "late", "repeated", "NaN"):
        assert found["faults"][fault] > 0
    assert found["attacks"] > 0
    assert found["offline"] > 0
    assert found["abandoned"] > 0


def test_crashes_come_at_every_moment_and_never_in_the_same_round_twice():
    found = crashes(seed=7, rounds=2000, every=200)
    assert {crash.moment for crash in found} == set(MOMENTS)
    assert len({crash.round for crash in found}) == len(found) == 9
    assert found == crashes(seed=7, rounds=2000, every=200)


def record(ledger, **other):
    arrived = [node for node in range(NODES) if ledger._arrives(1, node)]
    refused = {str(node): "no reply" for node in range(NODES) if node not in arrived}
    weight = [1 / len(arrived)] * len(arrived)
    return {"round": 1, "nodes": arrived, "refused": refused, "weight": weight, **other}


@pytest.fixture
def ledger(tmp_path):
    ledger = Ledger(faults(3), experiment(3, 10).engine.quorum, tmp_path)
    ledger.begins(1, tuple(range(NODES)))
    ledger.ends(record(ledger))  # as it should be
    return ledger


@pytest.mark.parametrize(
    ("other", "says"),
    [
        ({"nodes": list(range(NODES))}, "sent something good"),
        ({"refused": {}}, "names others"),
        ({"weight": [1.0]}, "one weight per node"),
        ({"abandoned": "why"}, "replies were good"),
    ],
)
def test_what_counts_wrongly_is_noticed(ledger, other, says):
    with pytest.raises(BrokenError, match=says):
        ledger.ends(record(ledger, **other))


def test_weights_that_are_none_are_noticed(ledger):
    nodes = len(record(ledger)["nodes"])
    for weights, says in (
        ([2 / nodes] * nodes, "sum to 2"),
        ([-1.0, 2.0, *[0.0] * (nodes - 2)], "weights"),
        ([float("nan")] * nodes, "weights"),
    ):
        with pytest.raises(BrokenError, match=says):
            ledger.ends(record(ledger, weight=weights))


def test_growth_is_told_per_round():
    assert slope([[r, 1000 + 2.5 * r] for r in range(0, 100, 10)]) == pytest.approx(2.5)
    assert slope([[r, 500.0 if r < 20 else 900.0] for r in range(0, 100, 10)]) == 0
