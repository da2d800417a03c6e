"""What one hostile node, or three, can do to a step; as published, and in robust mode."""

import pytest
import torch

from fedadp import Cohort, FedAdp, FedAvg, Robust
from fedadp.randomness import generator

STRATEGIES = {
    "fedavg": FedAvg(),
    "fedadp": FedAdp(),
    "clipped": Robust(FedAdp(), examples_cap=1e12),
    "robust": Robust(FedAdp()),
}


def direction(*address, size=4000):
    drawn = torch.randn(size, dtype=torch.float64, generator=generator(0, *address))
    return drawn / drawn.norm()


TRUE = direction("true")


def synthetic():
    """Five nodes along the true direction, and five that are mostly skewed."""
    aligned = [TRUE + 0.5 * direction("node", node) for node in range(5)]
    skewed = [0.3 * TRUE + 1.22 * direction("node", node) for node in range(5, 10)]
    return torch.stack([*aligned, *skewed])


def put(rows, nodes, update):
    changed = rows.clone()
    changed[list(nodes)] = update
    return changed


def alie(rows, nodes):
    """A little is enough: the honest mean, less one deviation in every coordinate."""
    honest = rows[[node for node in range(10) if node not in nodes]]
    return put(rows, nodes, honest.mean(0) - honest.std(0, unbiased=False))


ONE, THREE = (9,), (4, 8, 9)
NOISE = direction("attack")
ATTACKS = {  # who attacks, what comes of all updates, what the last node claims to hold
    "none": ((), lambda rows: rows, 600),
    "sign flip": (ONE, lambda rows: put(rows, ONE, -rows[0]), 600),
    "sign flip x 10": (ONE, lambda rows: put(rows, ONE, -10 * rows[0]), 600),
    "random direction x 10": (ONE, lambda rows: put(rows, ONE, 10 * NOISE), 600),
    "3 colluders, same direction x 3": (THREE, lambda rows: put(rows, THREE, 3 * NOISE), 600),
    "ALIE, 3 colluders": (THREE, lambda rows: alie(rows, THREE), 600),
    "a claim of 1e9 examples": (ONE, lambda rows: rows, 10**9),
}
# the step's cosine to the true direction, and what the attackers weigh together
FOUND = {  # by FedAvg, FedAdp, FedAdp with clipped norms, robust FedAdp
    "none": [(0.91, 0), (0.98, 0), (0.98, 0), (0.98, 0)],
    "sign flip": [(0.89, 0.1), (0.98, 0.001), (0.98, 0.001), (0.98, 0.001)],
    "sign flip x 10": [(-0.59, 0.1), (-0.89, 0.933), (0.98, 0.001), (0.98, 0.001)],
    "random direction x 10": [(0.51, 0.1), (0.03, 0.694), (0.98, 0.002), (0.98, 0.002)],
    "3 colluders, same direction x 3": [(0.46, 0.3), (0.02, 0.922), (0.94, 0.177), (0.94, 0.177)],
    "ALIE, 3 colluders": [(0.84, 0.3), (0.88, 0.425), (0.88, 0.425), (0.88, 0.425)],
    "a claim of 1e9 examples": [(0.25, 1), (0.25, 1), (0.25, 1), (0.96, 0.174)],
}


def attacked(attack):
    hostile, change, claim = ATTACKS[attack]
    rows = change(synthetic()).float()
    return list(hostile), Cohort.of(range(10), rows, [600] * 9 + [claim])


def cosine(one, other):
    return float(torch.nn.functional.cosine_similarity(one.double(), other.double(), dim=0))


@pytest.mark.parametrize("attack", ATTACKS)
def test_the_table_of_attacks(attack):
    hostile, cohort = attacked(attack)
    for strategy, (straight, weight) in zip(STRATEGIES.values(), FOUND[attack], strict=True):
        step = strategy.step(strategy.init(), cohort)
        assert cosine(step.delta, TRUE) == pytest.approx(straight, abs=0.02), strategy
        assert float(step.notes["weight"][hostile].sum()) == pytest.approx(weight, abs=0.02)


def test_a_long_attack_makes_a_long_step_unless_updates_are_cut():
    def length(name, attack):
        strategy = STRATEGIES[name]
        return float(strategy.step(strategy.init(), attacked(attack)[1]).delta.norm())

    usual = length("fedavg", "none")
    assert length("fedadp", "sign flip x 10") > 10 * usual
    assert length("robust", "sign flip x 10") < 1.5 * usual
