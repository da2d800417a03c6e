import pytest
import torch

from fedadp import Cohort, FedAdp, FedProx, FedSGD, Instructions, Momentum
from fedadp.errors import SettingError


def test_momentum_keeps_a_fading_part_of_the_last_steps():
    strategy = Momentum(FedAdp(), beta=0.5)
    cohort = Cohort.of([0], [[8.0, 4.0]], [1])
    one = strategy.step(strategy.init(), cohort)
    two = strategy.step(one.state, cohort)
    assert one.delta.tolist() == [8.0, 4.0]
    assert two.delta.tolist() == [12.0, 6.0]


def test_momentum_passes_on_what_the_strategy_inside_says():
    strategy = Momentum(FedProx(mu=0.3, inner=FedAdp()))
    assert strategy.instruct(Instructions(round=1)).proximal == 0.3
    cohort = Cohort.of([0, 1], torch.eye(2), [1, 1])
    notes = strategy.step(strategy.init(), cohort).notes
    assert {"weight", "angle", "smoothed_angle"} <= notes.keys()


def test_fedsgd_is_one_step_on_everything_around_any_strategy():
    told = FedSGD(FedProx(mu=0.1)).instruct(Instructions(round=1, epochs=9, batch_size=4))
    assert (told.steps, told.batch_size, told.proximal) == (1, None, 0.1)
    told = FedProx(mu=0.1, inner=FedSGD()).instruct(Instructions(round=1, epochs=9, batch_size=4))
    assert (told.steps, told.batch_size, told.proximal) == (1, None, 0.1)


@pytest.mark.parametrize("make", [lambda: Momentum(beta=1.0), lambda: FedProx(mu=-1.0)])
def test_impossible_settings_are_refused(make):
    with pytest.raises(SettingError):
        make()


def test_strategies_print_and_compare():
    assert Momentum(FedAdp(alpha=3.0)) == Momentum(FedAdp(alpha=3.0)) != Momentum(FedAdp())
    assert "alpha=3.0" in repr(Momentum(FedAdp(alpha=3.0)))
