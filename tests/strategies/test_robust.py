"""What robust mode cuts down, worked by hand."""

import itertools

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from fedadp import Cohort, FedAdp, FedAvg, FedProx, Instructions, Momentum, Robust
from fedadp.engines import Sequential
from fedadp.errors import SettingError
from fedadp.flat import Flat
from fedadp.loop import Round, federate
from fedadp.strategies.robust import capped, shortening
from fedadp.testing.toys import toy_model, toy_nodes


def weights(*values):
    return torch.tensor(values, dtype=torch.float64)


def stepped(strategy, cohort):
    return strategy.step(strategy.init(), cohort)


def test_an_update_longer_than_the_median_is_cut_to_it_before_the_average():
    cohort = Cohort.of([0, 1, 2], [[3.0, 0.0], [0.0, 2.0], [0.0, -100.0]], [1, 1, 1])
    step = stepped(Robust(FedAvg()), cohort)
    assert step.notes["kept"].tolist() == pytest.approx([1.0, 1.0, 0.03])
    assert step.delta.tolist() == pytest.approx([1.0, (2 - 3) / 3])


def test_the_angles_are_those_of_the_shortened_updates():
    rows = torch.tensor([[1.0, 0.1], [1.0, -0.1], [1.0, 0.3], [0.0, 50.0]], dtype=torch.float64)
    kept = stepped(Robust(), Cohort.of(range(4), rows, [1] * 4)).notes["kept"]
    robust = stepped(Robust(FedAdp()), Cohort.of(range(4), rows, [1] * 4))
    plain = stepped(FedAdp(), Cohort.of(range(4), rows * kept[:, None], [1] * 4))
    for name in ("angle", "weight"):
        assert torch.allclose(robust.notes[name], plain.notes[name], rtol=1e-12)
    assert torch.allclose(robust.delta, plain.delta, rtol=1e-12)


def test_updates_of_one_length_and_size_are_left_as_they_are_to_the_bit():
    rows = torch.randn(5, 200, dtype=torch.float64).sign()
    cohort = Cohort.of(range(5), rows, [600] * 5)
    assert torch.equal(stepped(Robust(FedAdp()), cohort).delta, stepped(FedAdp(), cohort).delta)


def test_of_an_even_number_the_lower_middle_is_the_median():
    assert shortening(weights(1.0, 2.0, 50.0, 100.0)).tolist() == [1.0, 1.0, 0.04, 0.02]


def test_a_claim_of_many_examples_counts_as_three_times_the_median():
    cohort = Cohort.of(range(4), torch.eye(4), [600, 600, 600, 10**9])
    assert stepped(Robust(FedAvg()), cohort).notes["weight"].tolist() == [1 / 6] * 3 + [0.5]
    none = stepped(Robust(FedAvg(), examples_cap=1.0), cohort).notes["weight"].tolist()
    assert none == [0.25] * 4


def test_what_is_over_the_weight_cap_goes_to_the_others_in_proportion():
    assert capped(weights(0.6, 0.3, 0.1), 0.5).tolist() == pytest.approx([0.5, 0.375, 0.125])
    # the excess of one can lift another over the cap in turn
    assert capped(weights(0.7, 0.2, 0.1), 0.4).tolist() == pytest.approx([0.4, 0.4, 0.2])
    assert capped(weights(0.25, 0.25, 0.5), 0.5).tolist() == [0.25, 0.25, 0.5]


def test_a_cap_that_too_few_nodes_can_keep_makes_them_equal():
    assert capped(weights(0.9, 0.1), 0.3).tolist() == [0.5, 0.5]
    assert capped(weights(1.0), 0.3).tolist() == [1.0]


@given(
    parts=st.lists(st.floats(0, 1e3), min_size=1, max_size=12).filter(sum),
    cap=st.floats(0.01, 1.0),
)
@settings(max_examples=200, deadline=None)
def test_capped_weights_are_a_distribution_that_keeps_the_order(parts, cap):
    given_ = weights(*parts) / sum(parts)
    found = capped(given_, cap)
    assert float(found.sum()) == pytest.approx(1.0, abs=1e-12)
    assert (found >= 0).all()
    assert found.max() <= max(cap, 1 / len(parts)) + 1e-15
    for one, other in itertools.combinations(range(len(parts)), 2):
        if given_[one] <= given_[other]:
            assert found[one] <= found[other] + 1e-15


def test_the_capped_weights_are_those_of_the_step():
    cohort = Cohort.of(range(3), [[1.0, 0.0], [1.0, 0.2], [0.0, 1.0]], [600] * 3)
    step = stepped(Robust(FedAdp(), weight_cap=0.4), cohort)
    assert step.notes["weight"].max() == 0.4
    rows = torch.tensor([[1.0, 0.0], [1.0, 0.2], [0.0, 1.0]]) * step.notes["kept"][:, None]
    assert torch.allclose(step.delta.double(), step.notes["weight"] @ rows, atol=1e-7)


def test_one_node_that_lies_about_its_statistics_does_not_move_them():
    """BatchNorm's have no norm to clip; one lie in a mean would be the model's."""
    module, nodes = toy_model(), toy_nodes()

    class Liar(Sequential):
        def train(self, params, buffers, told, nodes):
            cohort = super().train(params, buffers, told, nodes)
            cohort.buffers[0] = 1e30
            return cohort

    start = Round(0, Flat(module).read(), Flat(module).read_buffers())
    plain = next(federate(Liar(module, nodes), FedAdp(), start))
    robust = next(federate(Liar(module, nodes), Momentum(Robust(FedAdp())), start))
    assert plain.buffers.max() > 1e28
    assert robust.buffers.max() < 100


def test_a_round_notes_the_angles_that_were_weighed():
    module, nodes = torch.nn.Linear(6, 2), toy_nodes()
    now = next(federate(Sequential(module, nodes), Robust(FedAdp()), Round(0, torch.zeros(14))))
    assert torch.equal(now.notes["angle"], now.notes["smoothed_angle"])  # in round 1
    assert now.notes["kept"].min() < 1


def test_what_nodes_do_is_up_to_the_strategy_inside():
    assert Robust(FedProx(mu=0.1)).instruct(Instructions(round=1)).proximal == 0.1


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"examples_cap": 0.5}, "examples_cap: 0.5 is not possible; it takes a number from 1 up"),
        ({"weight_cap": 0.0}, "weight_cap: 0.0 is not possible"),
        ({"weight_cap": float("nan")}, "weight_cap: nan is not possible"),
        ({"inner": Momentum(), "weight_cap": 0.2}, "weight_cap: Momentum gives no weights to cap"),
    ],
)
def test_impossible_settings_are_refused(options, says):
    with pytest.raises(SettingError, match=says):
        Robust(**options)
