"""Equations 8 to 11 against numbers worked by hand."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from fedadp import Cohort, FedAdp, FedAvg
from fedadp.errors import SettingError
from fedadp.strategies.angles import Angles


def cohort_of(angles, examples=None, nodes=None):
    """Two-dimensional unit updates at these angles."""
    updates = [[math.cos(a), math.sin(a)] for a in angles]
    count = len(angles)
    return Cohort.of(
        nodes or range(count), torch.tensor(updates, dtype=torch.float64), examples or [600] * count
    )


def angle(x):
    return torch.tensor([x], dtype=torch.float64)


@pytest.mark.parametrize(
    ("theta", "gain"), [(0, 5.0), (1, 3.1606), (1.2, 1.539), (math.pi / 2, 0.2799)]
)
def test_the_gompertz_function_has_the_known_values(theta, gain):
    assert FedAdp(alpha=5.0).gain(angle(theta)).item() == pytest.approx(gain, abs=6e-5)


def test_angle_0_weighs_112_times_a_right_angle():
    gains = FedAdp().gain(torch.tensor([0.0, math.pi / 2], dtype=torch.float64))
    assert math.exp(gains[0] - gains[1]) == pytest.approx(112, abs=0.5)


def test_one_round_by_hand():
    # updates e1 and e2, examples 600 and 200: the mean is (3/4, 1/4), its norm sqrt(10)/4
    cohort = Cohort.of([0, 1], [[1.0, 0.0], [0.0, 1.0]], [600, 200])
    weighed = FedAdp().weigh(Angles(), cohort)
    thetas = [math.acos(3 / math.sqrt(10)), math.acos(1 / math.sqrt(10))]
    assert weighed.notes["angle"].tolist() == pytest.approx(thetas, abs=1e-15)
    gains = [5 * (1 - math.exp(-math.exp(-5 * (theta - 1)))) for theta in thetas]
    parts = [600 * math.exp(gains[0]), 200 * math.exp(gains[1])]
    assert weighed.weights.tolist() == pytest.approx([p / sum(parts) for p in parts], abs=1e-15)


def test_three_rounds_by_hand():
    state, smoothed = Angles(), [0.0, 0.0]
    rounds = [((1.0, 0.0), (0.0, 1.0)), ((2.0, 0.0), (0.0, 1.0)), ((1.0, 1.0), (0.0, 3.0))]
    for t, (one, two) in enumerate(rounds, start=1):
        mean = [(a + b) / 2 for a, b in zip(one, two, strict=True)]
        for i, update in enumerate((one, two)):
            dot = sum(a * b for a, b in zip(update, mean, strict=True))
            theta = math.acos(dot / math.hypot(*update) / math.hypot(*mean))
            smoothed[i] = (t - 1) / t * smoothed[i] + theta / t
        weighed = FedAdp().weigh(state, Cohort.of([0, 1], [list(one), list(two)], [1, 1]))
        state = weighed.state
        assert weighed.notes["smoothed_angle"].tolist() == pytest.approx(smoothed, abs=1e-14)
        gains = [math.exp(5 * (1 - math.exp(-math.exp(-5 * (s - 1))))) for s in smoothed]
        expected = [gain / sum(gains) for gain in gains]
        assert weighed.weights.tolist() == pytest.approx(expected, abs=1e-14)
    assert smoothed[0] != smoothed[1]


def test_equal_datasets_reduce_eq_11_to_a_plain_softmax():
    cohort = cohort_of([0.1, 0.9, 2.0])
    weighed = FedAdp().weigh(Angles(), cohort)
    plain = torch.softmax(FedAdp().gain(weighed.notes["smoothed_angle"]), dim=0)
    assert torch.allclose(weighed.weights, plain, rtol=1e-15)


@pytest.mark.parametrize(("by", "mean"), [("participations", 0.967), ("rounds", 1.476)])
def test_eq_9_counts_participations_or_rounds(by, mean):
    state = Angles()
    for number in range(1, 101):
        if number in (1, 50, 100):
            state = state.average_in([0, 1], torch.tensor([1.5 if number == 1 else 0.7] * 2), by)
        else:
            state = state.average_in([1], angle(1.0), by)
    assert state.of([0]).item() == pytest.approx(mean, abs=5e-4)


def test_both_readings_of_eq_9_agree_when_all_take_part():
    one, two = FedAdp(), FedAdp(smoothing="rounds")
    state_one, state_two = one.init(), two.init()
    for spread in (0.3, 1.1, 0.8, 2.0):
        cohort = cohort_of([0.0, spread, -0.2])
        left, right = one.weigh(state_one, cohort), two.weigh(state_two, cohort)
        state_one, state_two = left.state, right.state
        assert torch.equal(left.weights, right.weights)


@pytest.mark.parametrize("by", ["participations", "rounds"])
def test_a_node_first_seen_in_round_9_starts_from_its_own_angle(by):
    state = Angles()
    for _ in range(8):
        state = state.average_in([0], angle(0.2), by)
    state = state.average_in([0, 5], torch.tensor([0.2, 1.3], dtype=torch.float64), by)
    assert state.of([5]).item() == 1.3


def test_smoothed_angles_follow_the_node_through_shuffles_and_absences():
    strategy, state = FedAdp(), Angles()
    thetas = {1: 0.1, 2: 0.6, 3: 1.4}
    history = {node: [] for node in thetas}
    for nodes in ([1, 2, 3], [3, 1], [2, 3], [3, 2, 1], [1]):
        cohort = cohort_of([thetas[n] for n in nodes], nodes=nodes)
        for node, theta in zip(nodes, cohort.geometry().angles.tolist(), strict=True):
            history[node].append(theta)
        state = strategy.weigh(state, cohort).state
    for node, seen in history.items():
        assert state.of([node]).item() == pytest.approx(sum(seen) / len(seen), abs=1e-14)


def test_a_zero_update_has_a_right_angle_and_the_smallest_weight():
    cohort = Cohort.of([0, 1, 2], [[1.0, 0.1], [1.0, -0.1], [0.0, 0.0]], [1, 1, 1])
    weighed = FedAdp().weigh(Angles(), cohort)
    assert weighed.notes["angle"][2].item() == pytest.approx(math.pi / 2)
    assert weighed.weights.argmin() == 2


def test_a_zero_mean_gives_the_weights_of_fedavg_and_leaves_the_angles_alone():
    state = FedAdp().weigh(Angles(), cohort_of([0.0, 1.0])).state
    cohort = Cohort.of([0, 1], [[3.0, 0.0], [-1.0, 0.0]], [100, 300])
    weighed = FedAdp().weigh(state, cohort)
    assert weighed.weights.tolist() == [0.25, 0.75]
    assert weighed.state is state  # under either reading of eq. 9


def test_a_number_makes_the_mean_of_angles_fade():
    state = Angles()
    for theta in (0.4, 0.4, 2.0, 2.0):
        state = state.average_in([0], angle(theta), 0.25)
    # 0.4, 0.4, then 3/4 0.4 + 1/4 2.0 = 0.8, then 3/4 0.8 + 1/4 2.0 = 1.1
    assert state.of([0]).item() == pytest.approx(1.1, abs=1e-15)


def test_who_was_good_for_long_and_turns_is_known_sooner_where_the_mean_fades():
    late = {}
    for by in ("participations", 0.3):
        strategy, state = FedAdp(smoothing=by), Angles()
        for number in range(1, 200):
            good = [0.0, 0.1, -0.1, 0.05]
            cohort = cohort_of([*good, 0.0 if number <= 50 else math.pi])
            weighed = strategy.weigh(state, cohort)
            state = weighed.state
            if number > 50 and weighed.weights[4] < 0.02:
                late[by] = number - 50
                break
    assert late[0.3] <= 4
    assert late["participations"] > 20


def test_fedavg_weighs_by_share_and_remembers_angles_all_the_same():
    cohort = cohort_of([0.0, 1.0], examples=[600, 200])
    weighed = FedAvg().weigh(Angles(), cohort)
    assert weighed.weights.tolist() == [0.75, 0.25]
    assert torch.equal(weighed.notes["smoothed_angle"], cohort.geometry().angles)


@pytest.mark.parametrize(
    "settings", [{"alpha": 0.0}, {"alpha": float("nan")}, {"smoothing": "no"}, {"smoothing": 0.0}]
)
def test_impossible_settings_are_refused(settings):
    with pytest.raises(SettingError, match=next(iter(settings))):
        FedAdp(**settings)


finite = st.floats(-1e3, 1e3, allow_nan=False, width=32)
updates = st.integers(1, 6).flatmap(
    lambda k: st.lists(st.lists(finite, min_size=3, max_size=3), min_size=k, max_size=k)
)
sizes = st.integers(1, 10_000)


@given(rows=updates, data=st.data(), alpha=st.floats(0.1, 20))
@settings(max_examples=150, deadline=None)
def test_weights_are_a_distribution_and_permuting_nodes_permutes_them(rows, data, alpha):
    examples = data.draw(st.lists(sizes, min_size=len(rows), max_size=len(rows)))
    strategy, nodes = FedAdp(alpha), list(range(len(rows)))
    weights = strategy.weigh(strategy.init(), Cohort.of(nodes, rows, examples)).weights
    assert torch.isfinite(weights).all()
    assert (weights >= 0).all()
    assert float(weights.sum()) == pytest.approx(1.0, abs=1e-12)
    order = data.draw(st.permutations(nodes))
    shuffled = Cohort.of(order, [rows[i] for i in order], [examples[i] for i in order])
    assert torch.equal(strategy.weigh(strategy.init(), shuffled).weights, weights[order])


@given(rows=updates)
@settings(max_examples=150, deadline=None)
def test_a_smaller_smoothed_angle_never_weighs_less_at_equal_size(rows):
    weighed = FedAdp().weigh(Angles(), Cohort.of(range(len(rows)), rows, [600] * len(rows)))
    by_angle = weighed.weights[weighed.notes["smoothed_angle"].argsort(stable=True)]
    assert (by_angle.diff() <= 1e-15).all()


@given(rows=updates, data=st.data())
@settings(max_examples=150, deadline=None)
def test_theorem_2_holds_in_round_1(rows, data):
    examples = data.draw(st.lists(sizes, min_size=len(rows), max_size=len(rows)))
    cohort = Cohort.of(range(len(rows)), rows, examples)
    cosines = cohort.geometry().cosines
    fedadp = FedAdp().weigh(Angles(), cohort).weights @ cosines
    assert float(fedadp) >= float(cohort.shares @ cosines) - 1e-12


@pytest.mark.parametrize(("by", "weight"), [("participations", 2), ("rounds", 10)])
def test_weigh_counts_as_it_was_told(by, weight):
    strategy, state = FedAdp(smoothing=by), Angles()
    found = []
    for number in range(1, 11):
        nodes = [0, 1] if number in (1, 10) else [1, 2]
        cohort = cohort_of([0.0, 1.0 if number == 10 else 0.2], nodes=nodes)
        weighed = strategy.weigh(state, cohort)
        state = weighed.state
        if 0 in nodes:
            found.append((weighed.notes["angle"][0], weighed.notes["smoothed_angle"][0]))
    (first, _), (last, smoothed) = found
    assert float(smoothed) == pytest.approx(float(first + (last - first) / weight), rel=1e-12)
