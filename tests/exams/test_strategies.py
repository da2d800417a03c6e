"""Every strategy takes the same exam: a new one is a new row."""

import pytest

from fedadp import FedAdp, FedAvg, FedProx, FedSGD, Momentum, Robust
from fedadp.strategies import STRATEGIES
from fedadp.testing import STRATEGY_EXAM, check_strategy

ROWS = [
    FedAvg(),
    FedAdp(),
    FedAdp(alpha=1.0),
    FedAdp(smoothing="rounds"),
    FedAdp(smoothing=0.3),
    FedSGD(),
    FedSGD(FedAdp()),
    FedProx(mu=0.1),
    FedProx(mu=0.1, inner=FedAdp()),
    Momentum(),
    Momentum(FedAdp(), beta=0.5),
    Momentum(Momentum(FedAdp(), beta=0.2), beta=0.2),
    Robust(),
    Robust(FedAdp()),
    Robust(FedAdp(), examples_cap=1.0, weight_cap=0.3),
    Robust(Momentum(FedAdp(), beta=0.5)),
    Momentum(Robust(FedAdp(), weight_cap=0.3), beta=0.5),
]


@pytest.mark.parametrize("check", STRATEGY_EXAM, ids=lambda check: check.__name__)
@pytest.mark.parametrize("strategy", ROWS, ids=repr)
def test_a_strategy_passes(strategy, check):
    check(strategy)


def test_every_strategy_with_a_name_takes_the_exam():
    assert {type(row) for row in ROWS} == set(STRATEGIES.values())


def test_the_whole_exam_in_one_call():
    check_strategy(FedAdp())
