import math

import pytest

from fedadp.paper.published import TABLE_1
from fedadp.paper.statistics import interval, rounds, saved


def test_the_interval_is_students():
    # 1, 2, 3: mean 2, deviation 1, t of two degrees 4.303, so 2 +- 4.303 / sqrt(3)
    assert interval([1.0, 2.0, 3.0]) == pytest.approx((2 - 4.303 / 3**0.5, 2 + 4.303 / 3**0.5))


def test_one_seed_has_no_interval():
    assert interval([5.0]) is None
    estimate = rounds([61], most=300)
    assert (estimate.middle, estimate.low, estimate.high) == (61, None, None)
    assert estimate.holds(61) is None


def test_rounds_are_compared_on_logarithms():
    # 50, 100, 200: evenly spaced in log2, so the middle of the interval is 100
    estimate = rounds([50, 100, 200], most=300)
    assert estimate.middle == 100
    assert math.sqrt(estimate.low * estimate.high) == pytest.approx(100)
    assert estimate.holds(61)
    assert not estimate.holds(5)


def test_a_run_that_never_arrives_counts_as_the_longest():
    estimate = rounds([200, None, 250], most=300)
    assert estimate.middle == 250
    assert estimate.high == math.inf
    assert estimate.low < 250
    assert rounds([None, None, 250], most=300).middle == math.inf


def test_what_is_saved_is_paired_by_seed():
    saving = saved({0: 50, 1: 30}, {1: 60, 0: 100, 2: 7}, most=300)
    assert saving.estimate.middle == pytest.approx(0.5)
    assert saving.estimate.low == pytest.approx(0.5)
    assert saving.estimate.high == pytest.approx(0.5)
    assert not saving.at_least


def test_against_a_baseline_that_never_arrives_at_least_so_much_is_saved():
    saving = saved({0: 150}, {0: None}, most=300)
    assert saving.at_least
    assert saving.estimate.middle == pytest.approx(0.5)


def test_nothing_is_known_to_be_saved_where_ours_never_arrives():
    assert saved({0: None, 1: 20}, {0: None, 1: 40}, most=300) is None
    assert saved({0: 20}, {1: 40}, most=300) is None


@pytest.mark.parametrize(
    ("cell", "printed"),
    [
        ("mnist-5+5-1", 0.541),
        ("mnist-5+5-2", 0.433),
        ("fashion-5+5-1", 0.437),
        ("fashion-5+5-2", 0.454),
    ],
)
def test_the_papers_own_reductions_follow_from_its_table(cell, printed):
    avg, adp = TABLE_1[cell]["fedavg"].rounds, TABLE_1[cell]["fedadp"].rounds
    assert round(1 - adp / avg, 3) == printed
