import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from fedadp.data.partitions import (
    PARTITIONS,
    Case1,
    Case2,
    ClassSkew,
    Dirichlet,
    Iid,
    Quantity,
    Shards,
)
from fedadp.errors import DataError, SettingError

LABELS = torch.randperm(2000, generator=torch.Generator().manual_seed(0)) % 10

seeds = st.integers(0, 2**32)
whole = st.one_of(  # partitions that deal out every example
    st.builds(Iid, nodes=st.integers(1, 40)),
    st.builds(Shards, nodes=st.integers(1, 40), per_node=st.integers(1, 5)),
    st.builds(Dirichlet, nodes=st.integers(1, 20), beta=st.floats(0.3, 100)),
    st.builds(Quantity, nodes=st.integers(1, 20), beta=st.floats(0.3, 100)),
)
drawn = st.one_of(  # partitions that draw some examples for each node
    st.builds(
        ClassSkew,
        iid=st.integers(1, 5),
        skewed=st.integers(0, 5),
        classes=st.integers(1, 10),
        examples=st.integers(1, 20),
        overlap=st.booleans(),
    ),
    st.builds(Case1, nodes=st.integers(1, 10), examples=st.just(20), overlap=st.booleans()),
    st.builds(Case2, nodes=st.integers(1, 10), examples=st.just(20), overlap=st.booleans()),
)
facts = settings(deadline=None, max_examples=40)


@given(whole | drawn, seeds)
@facts
def test_a_split_is_pure_and_gives_every_node_sorted_distinct_places(partition, seed):
    before = LABELS.clone()
    held = partition.split(LABELS, 10, seed)
    assert len(held) == partition.nodes == len(partition.describe(10, seed))
    for places in held:
        assert places.dtype == torch.int64
        assert bool((places.diff() > 0).all())
        assert 0 <= places[0] <= places[-1] < len(LABELS)
    again = partition.split(LABELS, 10, seed)
    assert all(torch.equal(one, same) for one, same in zip(held, again, strict=True))
    assert torch.equal(LABELS, before)


@given(whole, seeds)
@facts
def test_dealing_out_leaves_nothing_and_gives_nothing_twice(partition, seed):
    held = torch.cat(partition.split(LABELS, 10, seed))
    assert torch.equal(held.sort().values, torch.arange(len(LABELS)))


@given(drawn, seeds)
@facts
def test_drawing_gives_each_node_its_number_and_shares_only_where_it_may(partition, seed):
    held = partition.split(LABELS, 10, seed)
    assert {len(places) for places in held} == {partition.examples}
    if not partition.overlap:
        assert len(torch.cat(held).unique()) == len(held) * partition.examples


@pytest.mark.parametrize("kind", PARTITIONS.values())
def test_another_seed_is_another_split(kind):
    partition = kind(examples=20) if "examples" in kind.__dataclass_fields__ else kind(nodes=8)
    one, other = partition.split(LABELS, 10, 0), partition.split(LABELS, 10, 1)
    assert not torch.equal(torch.cat(one), torch.cat(other))


def kinds(partition, seed=0, labels=LABELS, classes=10):
    held = partition.split(labels, classes, seed)
    return [len(labels[places].unique()) for places in held]


@pytest.mark.parametrize("seed", range(5))
def test_a_skewed_node_holds_exactly_its_number_of_classes(seed):
    partition = ClassSkew(iid=2, skewed=3, classes=[1, 2, 5], examples=100, overlap=True)
    assert kinds(partition, seed) == [10, 10, 1, 2, 5]
    assert partition.describe(10, seed) == ("iid", "iid", "1-class", "2-class", "5-class")


def test_skewed_nodes_choose_their_classes_at_random_and_may_choose_alike():
    partition = ClassSkew(iid=0, skewed=100, examples=1)
    chosen = LABELS[torch.cat(partition.split(LABELS, 10, 0))].bincount(minlength=10)
    assert chosen.sum() == 100
    assert 1 <= chosen.min() < chosen.max() <= 25


def test_with_overlap_a_node_draws_the_same_whatever_the_others_do():
    alone = ClassSkew(iid=1, skewed=0, examples=50, overlap=True).split(LABELS, 10, 3)
    among = ClassSkew(iid=1, skewed=4, examples=50, overlap=True).split(LABELS, 10, 3)
    assert torch.equal(alone[0], among[0])


def test_no_two_nodes_draw_alike():
    for overlap in (False, True):
        held = ClassSkew(iid=4, skewed=0, examples=50, overlap=overlap).split(LABELS, 10, 0)
        assert len({tuple(places.tolist()) for places in held}) == 4


def test_examples_are_drawn_evenly_from_all_that_may_be_had():
    partition = ClassSkew(iid=1, skewed=0, examples=1000)
    drawn = torch.cat([partition.split(LABELS, 10, seed)[0] for seed in range(50)])
    counts = drawn.bincount(minlength=2000).double()  # Binomial(50, 1/2) each
    assert counts.mean() == 25
    assert counts.std() == pytest.approx(12.5**0.5, rel=0.1)
    assert counts[:1000].mean() == pytest.approx(25, abs=0.5)


@pytest.mark.parametrize("seed", range(5))
def test_in_case_1_no_two_nodes_hold_as_many_classes(seed):
    partition = Case1(examples=100)
    assert sorted(kinds(partition, seed)) == list(range(1, 11))
    told = [int(kind.removesuffix("-class")) for kind in partition.describe(10, seed)]
    assert told == kinds(partition, seed)


@pytest.mark.parametrize(("classes", "few"), [(10, 5), (7, 3), (1, 1)])
def test_in_case_2_half_the_nodes_hold_few_classes_and_half_many(classes, few):
    seen = [Case2(nodes=6).counts(classes, seed) for seed in range(60)]
    assert {count for counts in seen for count in counts[:3]} == set(range(1, few + 1))
    many = {count for counts in seen for count in counts[3:]}
    assert many == set(range(min(few + 1, classes), classes + 1))


@pytest.mark.parametrize(
    ("partition", "complaint"),
    [
        (
            ClassSkew(iid=0, skewed=9, classes=1, examples=150),
            r"^partition.examples: node \d asks for 150 examples of class \d but only 50 are left; "
            "ask for fewer, or set overlap = true$",
        ),
        (
            ClassSkew(iid=0, skewed=1, classes=2, examples=500),
            r"node 0 asks for 500 examples of classes \d, \d but only 400 are left",
        ),
        (
            ClassSkew(iid=2, skewed=0, examples=1500),
            "node 1 asks for 1500 examples but only 500 are left",
        ),
        (
            ClassSkew(iid=0, skewed=1, examples=201, overlap=True),
            r"class \d but there are only 200; ask for fewer$",
        ),
        (ClassSkew(classes=11, examples=1), "node 5 asks for 11 classes but there are 10"),
        (Case1(nodes=11), "11 nodes cannot each .* when there are 10; ask for 10 nodes or fewer"),
        (Iid(nodes=11, examples=200), "needs 2200 examples but there are 2000"),
        (Iid(nodes=2001), "needs 2001 examples but there are 2000"),
        (Shards(nodes=1001, per_node=2), "needs 2002 examples but there are 2000"),
        (Dirichlet(nodes=3, minimum=700), "needs 2100 examples but there are 2000"),
        (Quantity(nodes=100, beta=0.001), "none of 1000 draws gave each of 100 nodes 1"),
    ],
)
def test_a_split_that_cannot_be_had_says_what_was_asked_and_what_there_is(partition, complaint):
    with pytest.raises(DataError, match=complaint):
        partition.split(LABELS, 10, 0)


@pytest.mark.parametrize(
    ("kind", "settings", "field"),
    [
        (ClassSkew, {"iid": -1}, "iid"),
        (ClassSkew, {"iid": 0, "skewed": 0}, "skewed"),
        (ClassSkew, {"classes": 0}, "classes"),
        (ClassSkew, {"classes": [1, 2]}, "classes"),
        (ClassSkew, {"skewed": 2, "classes": [1, 0]}, "classes"),
        (ClassSkew, {"examples": 0}, "examples"),
        (Case1, {"nodes": 0}, "nodes"),
        (Case2, {"examples": 0}, "examples"),
        (Iid, {"examples": 0}, "examples"),
        (Shards, {"per_node": 0}, "per_node"),
        (Dirichlet, {"beta": 0.0}, "beta"),
        (Quantity, {"beta": float("nan")}, "beta"),
        (Quantity, {"minimum": -1}, "minimum"),
    ],
)
def test_an_impossible_setting_is_refused_by_name(kind, settings, field):
    with pytest.raises(SettingError, match=f"^{field}: "):
        kind(**settings)


def test_a_list_from_a_file_and_a_tuple_make_the_same_partition():
    listed, typed = ClassSkew(skewed=2, classes=[1, 2]), ClassSkew(skewed=2, classes=(1, 2))
    assert listed == typed
    assert hash(listed) == hash(typed)


def test_everything_is_dealt_out_as_evenly_as_can_be():
    assert [len(places) for places in Iid(nodes=3).split(LABELS, 10, 0)] == [667, 667, 666]
    assert [len(places) for places in Iid(nodes=3, examples=9).split(LABELS, 10, 0)] == [9, 9, 9]


def test_a_shard_spans_no_more_classes_than_it_must():
    assert max(kinds(Shards(nodes=10, per_node=1))) == 1
    assert max(kinds(Shards(nodes=10, per_node=2))) == 2


def test_a_large_beta_is_even_and_a_small_one_is_not():
    even = kinds(Dirichlet(nodes=5, beta=1000.0)), Quantity(nodes=5, beta=1000.0)
    assert even[0] == [10] * 5
    assert min(len(places) for places in even[1].split(LABELS, 10, 0)) > 300
    assert min(kinds(Dirichlet(nodes=5, beta=0.05))) < 8
    uneven = Quantity(nodes=5, beta=0.2).split(LABELS, 10, 0)
    assert max(len(places) for places in uneven) > 1000


def test_every_node_gets_the_minimum():
    for kind in (Dirichlet, Quantity):
        held = kind(nodes=10, beta=0.5, minimum=20).split(LABELS, 10, 0)
        assert min(len(places) for places in held) >= 20
