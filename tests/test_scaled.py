"""A scaled cohort is, in all that can be asked of it, the cohort of the scaled updates."""

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from fedadp import Cohort
from fedadp.scaled import Scaled

factors = st.lists(st.just(0.0) | st.floats(1e-9, 3), min_size=4, max_size=4)


def both(parts, order=(0, 1, 2, 3)):
    parts = torch.tensor(parts, dtype=torch.float64)[list(order)]
    updates = torch.randn(4, 1000, dtype=torch.float64, generator=torch.Generator().manual_seed(3))
    updates = updates[list(order)]
    examples = torch.tensor([100, 250, 70, 600], dtype=torch.float64)[list(order)]
    counts = examples.clamp(max=300)
    seen = Scaled(Cohort.of(order, updates, examples), parts, counts)
    return seen, Cohort.of(order, updates * parts[:, None], counts)


@given(parts=factors)
@settings(max_examples=60, deadline=None)
def test_geometry_and_sum_are_those_of_scaled_updates(parts):
    seen, made = both(parts)
    ours, theirs = seen.geometry(), made.geometry()
    assert torch.allclose(ours.norms, theirs.norms, rtol=1e-12)
    assert torch.allclose(ours.cosines, theirs.cosines, atol=1e-10)
    assert abs(ours.mean_norm - theirs.mean_norm) < 1e-12
    weights = torch.tensor([0.1, 0.2, 0.3, 0.4], dtype=torch.float64)
    assert torch.allclose(seen.combine(weights), made.combine(weights), atol=1e-12)
    slabs = zip(seen.slabs(), made.slabs(), strict=True)
    assert all(torch.allclose(one, other) for one, other in slabs)


def test_the_order_of_replies_does_not_show_in_a_bit():
    straight, _ = both([0.5, 1.0, 0.1, 1.0])
    shuffled, _ = both([0.5, 1.0, 0.1, 1.0], order=(2, 0, 3, 1))
    places = torch.tensor([2, 0, 3, 1])
    assert torch.equal(straight.geometry().cosines[places], shuffled.geometry().cosines)
    assert torch.equal(straight.combine(straight.shares), shuffled.combine(shuffled.shares))


def test_scaling_twice_is_scaling_by_the_product():
    seen, _ = both([0.5, 1.0, 0.1, 1.0])
    twice = Scaled(seen, torch.tensor([1.0, 0.5, 1.0, 0.2], dtype=torch.float64))
    _, made = both([0.5, 0.5, 0.1, 0.2])
    assert torch.allclose(twice.geometry().norms, made.geometry().norms, rtol=1e-12)
    assert torch.allclose(twice.geometry().cosines, made.geometry().cosines, atol=1e-12)
    assert torch.allclose(next(twice.slabs()), next(made.slabs()))


def test_an_update_scaled_to_nothing_has_no_direction():
    seen, made = both([1.0, 0.0, 1.0, 1.0])
    assert seen.geometry().cosines[1] == made.geometry().cosines[1] == 0.0


def test_what_has_no_angle_is_passed_on():
    cohort = Cohort.of(
        [4, 5], torch.eye(2), [1, 1], round=7, buffers=torch.ones(2, 3),
        notes={"loss": torch.ones(2)}, refused={9: "its loss is nan"},
    )  # fmt: skip
    seen = Scaled(cohort, torch.ones(2, dtype=torch.float64))
    assert (seen.nodes, seen.round, seen.refused) == ((4, 5), 7, {9: "its loss is nan"})
    assert torch.equal(seen.mean_buffers(), torch.ones(3, dtype=torch.float64))
    assert torch.equal(seen.notes["loss"], torch.ones(2))
