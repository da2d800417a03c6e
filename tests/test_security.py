"""The security page says what was measured, and the measurements can tell."""

import json

import numpy as np
import pytest
import torch

from fedadp.core import Instructions
from fedadp.engines import Batched
from fedadp.testing.toys import toy_nodes
from security.attacks import ATTACKS, QUIET, Attacked
from security.leaks import RESULTS as RUNS
from security.leaks import _add, leaks
from security.page import PAGE, RESULTS, written


def test_the_page_has_the_figures_that_were_measured():
    page = PAGE.read_text()
    assert written(page, json.loads(RESULTS.read_text())) == page
    for attack in ATTACKS:
        assert f"| {attack.name} |" in page


def test_what_weights_give_away_is_what_the_committed_runs_say():
    assert RUNS.is_dir()
    assert leaks() == json.loads(RESULTS.read_text())["leaks"]


@pytest.mark.parametrize(
    ("high", "low", "area"),
    [([2, 3], [1, 0], 1.0), ([1, 0], [2, 3], 0.0), ([1, 2], [1, 2], 0.5), ([1, 3], [2], 0.5)],
)
def test_the_area_is_the_part_of_pairs_in_order(high, low, area):
    scores = {}
    _add(scores, "x", np.array(high), np.array(low))
    assert scores == {"x": [area]}


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_attackers_alone_send_something_else(attack):
    module, nodes = torch.nn.Linear(6, 2), toy_nodes()
    honest, params = Batched(module, nodes), torch.zeros(14)
    for number in (1, QUIET + 1):
        told, empty = Instructions(round=number), torch.zeros(0, dtype=torch.float64)
        plain = honest.train(params, empty, told, honest.nodes)
        rows, examples = plain.slab(0, 14).clone(), plain.examples
        engine = Attacked(Batched(module, nodes), attack)
        cohort = engine.train(params, empty, told, engine.nodes)
        others = slice(attack.attackers, None)
        assert torch.equal(cohort.slab(0, 14)[others], rows[others])
        assert torch.equal(cohort.examples[others], examples[others])
        changed = not torch.equal(cohort.slab(0, 14), rows)
        patient = "then" in attack.name and number == 1
        assert changed == (attack.attackers > 0 and not patient)
        if attack.claims:
            assert cohort.examples[0] == attack.claims
