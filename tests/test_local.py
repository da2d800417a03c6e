import pytest
import torch
from torch import nn

from fedadp import Examples, Instructions, Training
from fedadp.engines import Sequential
from fedadp.engines.inprocess import Workshop
from fedadp.flat import Flat
from fedadp.local import bounds, cross_entropy, orders, train
from fedadp.randomness import address, few_of, generator


def batches(count, node=0, **told):
    instructions = Instructions(**{"round": 1, **told})
    (order,) = orders(count, instructions, [node])
    return [order[start:stop] for start, stop in bounds(count, instructions)]


def sizes(count, **told):
    return [len(batch) for batch in batches(count, **told)]


def test_600_examples_in_batches_of_32_are_19_steps_and_nothing_is_dropped():
    found = sizes(600, batch_size=32)
    assert len(found) == 19
    assert sum(found) == 600
    assert found[-1] == 24


def test_steps_go_on_over_epochs_and_stop_where_told():
    assert sizes(10, batch_size=4, steps=5) == [4, 4, 2, 4, 4]
    assert sizes(10, batch_size=None, steps=2) == [10, 10]
    assert sizes(10, batch_size=4, epochs=2) == [4, 4, 2, 4, 4, 2]
    assert sizes(10, batch_size=64) == [10]


def test_each_epoch_sees_every_example_once_in_a_new_order():
    one, two = batches(50, batch_size=50, epochs=2)
    assert one.sort().values.tolist() == two.sort().values.tolist() == list(range(50))
    assert not torch.equal(one, two)


@pytest.mark.parametrize(
    "told",
    [
        {},
        {"momentum": 0.9},
        {"weight_decay": 0.1},
        {"momentum": 0.8, "weight_decay": 0.05},
    ],
)
def test_local_training_does_what_torch_optim_does(told):
    torch.manual_seed(0)
    examples = Examples(torch.randn(30, 5), torch.randint(0, 3, (30,)))
    ours, theirs = nn.Linear(5, 3), nn.Linear(5, 3)
    theirs.load_state_dict(ours.state_dict())
    instructions = Instructions(round=2, batch_size=8, epochs=3, learning_rate=0.1, **told)
    train(Flat(ours), examples, instructions, 4, cross_entropy)
    sgd = torch.optim.SGD(theirs.parameters(), 0.1, **told)
    for batch in batches(30, node=4, round=2, batch_size=8, epochs=3):
        sgd.zero_grad()
        cross_entropy(theirs(examples.x[batch]), examples.y[batch]).backward()
        sgd.step()
    assert torch.allclose(ours.weight, theirs.weight, rtol=1e-6, atol=1e-7)


def test_the_proximal_term_pulls_back_to_the_start():
    # loss w x with x = 1, so each step moves w by -eta (1 + mu (w - w0))
    model = nn.Linear(1, 1, bias=False)
    nn.init.constant_(model.weight, 2.0)
    told = Instructions(round=1, steps=3, batch_size=None, learning_rate=0.1, proximal=4.0)
    train(
        Flat(model), Examples(torch.ones(1, 1), torch.zeros(1)), told, 0, lambda out, y: out.sum()
    )
    w = 2.0
    for _ in range(3):
        w -= 0.1 * (1 + 4.0 * (w - 2.0))
    assert model.weight.item() == pytest.approx(w, rel=1e-6)


def test_the_loss_is_the_mean_over_the_examples_seen():
    examples = Examples(torch.arange(5.0)[:, None], torch.zeros(5))
    told = Instructions(round=1, batch_size=2, learning_rate=1e-12)
    model = nn.Linear(1, 1, bias=False)
    nn.init.ones_(model.weight)
    loss = train(Flat(model), examples, told, 0, lambda out, y: out.mean())
    assert loss == pytest.approx(2.0, rel=1e-6)


def test_a_node_learns_in_the_same_order_whoever_else_takes_part():
    told = Instructions(round=3, seed=5, epochs=2)
    together = orders(40, told, [11, 2, 7])
    for row, node in enumerate([11, 2, 7]):
        assert torch.equal(orders(40, told, [node])[0], together[row])
    assert orders(5, Instructions(round=1), [0, -1, 2**62]).tolist() == ORDERS


ORDERS = [[1, 0, 2, 4, 3], [0, 4, 1, 3, 2], [4, 3, 2, 1, 0]]  # everywhere, in every version


def test_every_order_of_three_examples_is_as_likely():
    found = orders(3, Instructions(round=1), range(60_000))
    counts = (found @ torch.tensor([9, 3, 1])).bincount()
    counts = counts[counts > 0]
    assert len(counts) == 6
    assert float(((counts - 10_000) ** 2 / 10_000).sum()) < 20.5  # chi squared, 5 degrees, 0.999


def test_an_address_is_one_number_per_seed_purpose_and_place():
    places = [(s, p, r, n) for s in (0, 1) for p in ("a", "b") for r in (1, 11) for n in (1, 11)]
    assert len({address(*place) for place in places}) == len(places)
    assert address(0, "batches", 3, 7) == 4515525263917916603


def test_parts_of_a_model_that_a_batch_does_not_use_stay():
    class Half(nn.Module):
        def __init__(self):
            super().__init__()
            self.used, self.idle = nn.Linear(2, 2), nn.Linear(2, 2)

        def forward(self, x):
            return self.used(x)

    model = Half()
    idle, used = model.idle.weight.clone(), model.used.weight.clone()
    examples = Examples(torch.randn(4, 2), torch.tensor([0, 1, 0, 1]))
    train(Flat(model), examples, Instructions(round=1), 0, cross_entropy)
    assert torch.equal(model.idle.weight, idle)
    assert not torch.equal(model.used.weight, used)


def test_two_nodes_with_the_same_examples_draw_dropout_of_their_own():
    model = nn.Sequential(nn.Dropout(0.5), nn.Linear(64, 2))
    one = Examples(torch.ones(1, 64), torch.zeros(1).long())  # no order to differ in
    engine, flat = Sequential(model, {4: one, 9: one}), Flat(model)
    told = Instructions(round=1, learning_rate=0.1)
    cohort = engine.train(flat.read(), flat.read_buffers(), told, (4, 9))
    (updates,) = cohort.slabs()
    assert not torch.equal(updates[0], updates[1])


def test_an_engine_keeps_a_model_of_its_own():
    model = nn.Linear(6, 2)
    shop = Workshop(model, {0: Examples(torch.ones(1, 6), torch.zeros(1).long())})
    model.double().weight.data.zero_()
    tool = shop.tool()
    assert tool.read().dtype == torch.float32
    assert tool.read().abs().sum() > 0


@pytest.mark.parametrize(("count", "total"), [(1, 2), (3, 4), (7, 1_000), (50, 100_000)])
def test_a_few_of_many_nodes_are_those_that_a_whole_shuffle_begins_with(count, total):
    whole = torch.randperm(total, generator=generator(3, "sampling", 5))
    assert few_of(count, total, generator(3, "sampling", 5)) == whole[:count].tolist()
    nodes = range(100, 100 + total)
    asked = Training(participation=count).sample(nodes, 5, 3)
    assert asked == tuple(sorted(nodes[place] for place in whole[:count].tolist()))
