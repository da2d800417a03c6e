import math
from fractions import Fraction

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from fedadp import Cohort
from fedadp.cohort import SLAB_BYTES
from fedadp.errors import UpdateError


def angles(cohort):
    return cohort.geometry().angles


def test_identical_updates_have_angle_0_and_opposite_ones_pi():
    row = torch.randn(1000)
    assert angles(Cohort.of([0, 1], torch.stack([row, row]), [1, 3])).max() < 1e-7
    far = angles(Cohort.of([0, 1], torch.stack([row, -row]), [3, 1]))
    assert far.tolist() == pytest.approx([0.0, math.pi], abs=1e-7)


def test_geometry_agrees_with_float64_done_plainly():
    updates = torch.randn(7, 700_001)
    cohort = Cohort.of(range(7), updates, range(1, 8))
    exact = updates.double().numpy()
    shares = np.arange(1, 8) / 28
    mean = shares @ exact
    norms = np.linalg.norm(exact, axis=1)
    cosines = exact @ mean / norms / np.linalg.norm(mean)
    found = cohort.geometry()
    np.testing.assert_allclose(found.norms, norms, rtol=1e-13)
    np.testing.assert_allclose(found.cosines, cosines, rtol=1e-12)
    assert found.mean_norm == pytest.approx(np.linalg.norm(mean), rel=1e-13)
    np.testing.assert_allclose(found.distances, np.linalg.norm(exact - mean, axis=1), rtol=1e-12)
    ratios = norms / np.linalg.norm(mean)
    assert found.dissimilarity == pytest.approx((ratios.min(), ratios.max()), rel=1e-12)
    np.testing.assert_allclose(cohort.combine(cohort.shares), mean, atol=1e-7)


@pytest.mark.parametrize("odd", [0, 1, 2])
def test_two_nodes_that_disagree_in_one_tensor_only_get_the_true_angle(odd):
    shapes = [(3, 4), (5,), (2, 2, 2)]
    one = {f"layer{i}.weight": torch.ones(shape) for i, shape in enumerate(shapes)}
    two = {name: -t if i == odd else t for i, (name, t) in enumerate(one.items())}
    size, flipped = 25, math.prod(shapes[odd])
    # the mean is zero where they disagree: both lie acos(sqrt((P - F) / P)) away from it
    expected = math.acos(math.sqrt((size - flipped) / size))
    found = angles(Cohort.of([0, 1], [one, two], [1, 1]))
    assert found.tolist() == pytest.approx([expected] * 2, abs=1e-12)


def test_batchnorm_statistics_in_a_state_dict_have_no_angle():
    def sent(sign):
        return {
            "weight": torch.tensor([1.0, float(sign)]),
            "bn.running_mean": torch.full((4,), 1e6),
            "bn.num_batches_tracked": torch.tensor(19),
        }

    found = angles(Cohort.of([0, 1], [sent(1), sent(-1)], [1, 1]))
    assert found.tolist() == pytest.approx([math.pi / 4] * 2)


def test_arrays_lists_and_state_dicts_give_the_same_geometry():
    matrix = torch.randn(3, 40)
    forms = [
        matrix,
        matrix.numpy(),
        list(matrix),
        [row.numpy().reshape(4, 10) for row in matrix],
        [{"a": row[:15].view(3, 5), "b": row[15:]} for row in matrix],
    ]
    reference = Cohort.of([0, 1, 2], matrix, [1, 2, 3])
    for form in forms:
        cohort = Cohort.of([0, 1, 2], form, [1, 2, 3])
        assert torch.allclose(angles(cohort), angles(reference), rtol=1e-12)
        assert torch.allclose(cohort.combine(cohort.shares), reference.combine(cohort.shares))


def test_slabs_are_views_of_the_matrix():
    updates = torch.randn(10, 500_000)
    slabs = list(Cohort.of(range(10), updates, [1] * 10).slabs())
    here = updates.untyped_storage().data_ptr()
    assert all(slab.untyped_storage().data_ptr() == here for slab in slabs)
    assert sum(slab.shape[1] for slab in slabs) == 500_000
    assert max(slab.numel() for slab in slabs) * 4 <= SLAB_BYTES < updates.numel() * 4


def test_bits_do_not_depend_on_how_many_threads_torch_has():
    updates = torch.randn(9, 600_000)
    found = []
    before = torch.get_num_threads()
    try:
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            cohort = Cohort.of(range(9), updates, range(1, 10))
            found.append((cohort.geometry().cosines, cohort.combine(cohort.shares)))
    finally:
        torch.set_num_threads(before)
    for cosines, mean in found[1:]:
        assert torch.equal(cosines, found[0][0])
        assert torch.equal(mean, found[0][1])


def test_bits_do_not_depend_on_the_order_of_replies():
    updates, nodes = torch.randn(6, 900_000), [9, 4, 11, 2, 7, 5]
    one = Cohort.of(nodes, updates, range(1, 7))
    order = [3, 1, 5, 4, 0, 2]
    two = Cohort.of([nodes[i] for i in order], updates[order], [1 + i for i in order])
    assert torch.equal(one.geometry().cosines[order], two.geometry().cosines)
    assert torch.equal(one.combine(one.shares), two.combine(two.shares))


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -float("inf")])
def test_a_value_that_is_not_finite_is_refused_by_the_name_of_its_node(bad):
    updates = torch.randn(3, 5000)
    updates[1, 4321] = bad
    cohort = Cohort.of([30, 10, 20], updates, [1, 1, 1])
    with pytest.raises(UpdateError, match="node 10 ") as caught:
        cohort.combine(cohort.shares)
    assert caught.value.nodes == (10,)


def test_huge_and_tiny_updates_keep_their_angle():
    rows = torch.tensor([[3.0, 4.0], [4.0, 3.0]], dtype=torch.float64)
    expected = angles(Cohort.of([0, 1], rows, [1, 1]))
    for scale in (1e-300, 1e-160, 1e160, 1e300):
        found = Cohort.of([0, 1], rows * scale, [1, 1]).geometry()
        assert torch.allclose(found.angles, expected, atol=1e-7)
        assert found.norms[0].item() == pytest.approx(5 * scale, rel=1e-12)
    assert torch.isfinite(angles(Cohort.of([0, 1], rows.float() * 6e37, [1, 1]))).all()


@given(
    st.lists(st.lists(st.floats(-1e300, 1e300), min_size=4, max_size=4), min_size=1, max_size=5),
    st.data(),
)
@settings(max_examples=200, deadline=None)
def test_no_finite_input_gives_a_nan(rows, data):
    count = len(rows)
    examples = data.draw(st.lists(st.integers(1, 10**9), min_size=count, max_size=count))
    found = Cohort.of(range(count), rows, examples).geometry()
    assert torch.isfinite(found.norms).all()
    assert torch.isfinite(found.angles).all()


@pytest.mark.parametrize(
    ("nodes", "updates", "examples", "says"),
    [
        ([0, 1], torch.ones(3, 4), [1, 1], "do not go together"),
        ([0, 1], torch.ones(2, 4), [1], "do not go together"),
        ([0, 0], torch.ones(2, 4), [1, 1], "node 0 is there twice"),
        ([0, 1], torch.ones(2, 4), [1, 0], "node 1 holds 0"),
        ([0, 1], torch.ones(2, 4), [1, float("nan")], "node 1 holds nan"),
        ([0, 1], torch.ones(4), [1, 1], "matrix is needed"),
        ([], torch.ones(0, 4), [], "matrix is needed"),
        ([], [], [], "there are none"),
        ([0, 1], [torch.ones(3), torch.ones(4)], [1, 1], "sizes differ, 3 and 4"),
        ([0, 1], [{"a": [1.0]}, {"b": [1.0]}], [1, 1], "entry named 'a'"),
        ([0], [{"n": torch.tensor(3)}], [1], "nothing to average"),
    ],
)
def test_what_does_not_fit_together_is_refused(nodes, updates, examples, says):
    with pytest.raises(UpdateError, match=says):
        Cohort.of(nodes, updates, examples)


def test_weights_for_other_nodes_are_refused():
    cohort = Cohort.of([0, 1], torch.eye(2), [1, 1])
    with pytest.raises(UpdateError, match="3 weights for 2 nodes"):
        cohort.combine(torch.ones(3))


def test_entries_of_mixed_precision_lose_nothing():
    entries = {"half": torch.ones(2, dtype=torch.float16), "full": torch.full((2,), 1e6)}
    cohort = Cohort.of([0], [entries], [1])
    assert cohort.combine(cohort.shares).tolist() == [1.0, 1.0, 1e6, 1e6]


def test_the_order_of_replies_shows_in_no_sum():
    draw = torch.Generator().manual_seed(0)
    for _ in range(50):
        nodes = torch.randperm(40, generator=draw).tolist()
        examples = torch.randint(1, 10**6, (40,), generator=draw).tolist()
        updates = torch.randn(40, 30, generator=draw)
        buffers = torch.randn(40, 3, generator=draw)
        one = Cohort.of(nodes, updates, examples, buffers=buffers)
        order = torch.randperm(40, generator=draw).tolist()
        two = Cohort.of(
            [nodes[i] for i in order],
            updates[order],
            [examples[i] for i in order],
            buffers=buffers[order],
        )
        assert torch.equal(one.shares[order], two.shares)
        assert torch.equal(one.mean_buffers(), two.mean_buffers())
        assert torch.equal(one.combine(one.shares), two.combine(two.shares))


def test_statistics_of_state_dicts_are_averaged_by_share():
    sent = [
        {"w": torch.ones(2), "bn.running_var": torch.tensor([v]), "n": torch.tensor(v)}
        for v in (1.0, 5.0)
    ]
    for entries in sent:
        entries["n"] = entries["n"].long()
    cohort = Cohort.of([0, 1], sent, [300, 100])
    assert cohort.size == 2
    assert cohort.mean_buffers().tolist() == [2.0, 2.0]


def test_updates_can_be_filed_under_their_nodes():
    filed = {7: torch.ones(3), 2: torch.zeros(3)}
    assert Cohort.of([2, 7], filed, [1, 1]).geometry().norms.tolist() == [0.0, 3**0.5]
    with pytest.raises(UpdateError, match="none is filed under node 3"):
        Cohort.of([2, 3], filed, [1, 1])


def test_arrays_off_a_wire_are_read_as_they_are():
    values = np.arange(6, dtype=np.float32).reshape(2, 3)
    fixed = np.frombuffer(values.tobytes(), dtype=np.float32).reshape(2, 3)
    for form in (fixed, values.astype(">f4"), values[:, ::-1][:, ::-1], values[::-1][::-1]):
        assert Cohort.of([0, 1], form, [1, 1]).geometry().norms[0] == 5**0.5


@pytest.mark.parametrize(
    ("nodes", "updates", "examples", "says"),
    [
        (["a", "b"], torch.ones(2, 4), [1, 1], "whole number"),
        ([1.2, 1.9], torch.ones(2, 4), [1, 1], "whole number"),
        ([0, 2**63], torch.ones(2, 4), [1, 1], "too large a name"),
        ([0, 1], [[1.0], [1.0, 2.0]], [1, 1], "sizes differ"),
        ([0, 1], [None, None], [1, 1], "not an array of numbers"),
        ([0, 1], torch.ones(2, 4), [1e308, 1e308], "up to 1e15"),
        ([0, 1], torch.ones(2, 4), None, "one number per node"),
    ],
)
def test_what_is_no_cohort_at_all_is_refused(nodes, updates, examples, says):
    with pytest.raises(UpdateError, match=says):
        Cohort.of(nodes, updates, examples)


@pytest.mark.parametrize(
    "buffers", [torch.zeros(3, 1), torch.zeros(2), torch.tensor([[0.0], [torch.nan]])]
)
def test_statistics_that_cannot_be_averaged_are_refused(buffers):
    with pytest.raises(UpdateError, match="buffers"):
        Cohort.of([0, 1], torch.ones(2, 4), [1, 1], buffers=buffers)


def test_shares_are_the_same_in_whatever_order_the_nodes_come():
    examples = torch.tensor([1e15, 0.1, 0.7, 3.0, 1e-3, 2.5e14, 0.3, 1 / 3], dtype=torch.float64)
    total = sum(map(Fraction, examples.tolist()))
    for seed in range(20):
        order = torch.randperm(len(examples), generator=torch.Generator().manual_seed(seed))
        shares = Cohort.of(order.tolist(), torch.ones(len(order), 2), examples[order]).shares
        expected = examples[order] / float(total)
        assert torch.equal(shares, expected)
    tenths = Cohort.of(range(10), torch.ones(10, 2), [0.1] * 10).shares
    assert tenths.tolist() == [0.1] * 10
