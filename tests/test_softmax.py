import pytest
import torch
from torch import nn

from fedadp import Examples, Instructions
from fedadp.engines.softmax import can_descend, descend, is_softmax_regression
from fedadp.flat import Flat
from fedadp.local import cross_entropy, orders, train

pytest.importorskip("numba", reason="the compiled loops are the extra 'fast'")

TOLD = [
    Instructions(round=1, batch_size=4, learning_rate=0.1),
    Instructions(round=2, batch_size=None, epochs=3, learning_rate=0.1),
    Instructions(round=3, batch_size=8, steps=7, learning_rate=0.1),
]


@pytest.mark.parametrize("told", TOLD, ids=["last batch of one", "all at once", "steps"])
@pytest.mark.parametrize(("inputs", "classes"), [(1, 2), (7, 3), (50, 11)])
def test_the_compiled_loop_does_what_a_node_does(told, inputs, classes):
    module = nn.Linear(inputs, classes).double()
    flat, counts = Flat(module), [13, 5]
    start = flat.read()
    examples = Examples(
        torch.randn(18, inputs, dtype=torch.float64), torch.randint(0, classes, (18,))
    )
    places = torch.zeros(2, 60, dtype=torch.int64)
    for node, (count, begin) in enumerate(zip(counts, (0, 13), strict=True)):
        (order,) = orders(count, told, [node])
        places[node, : len(order)] = order + begin
    block = torch.empty(2, 1000, dtype=torch.float64)[:, : flat.size]
    losses, sums = descend(block, start, examples, places, counts, told)
    for node, part in enumerate((slice(0, 13), slice(13, 18))):
        row = start.clone()
        flat.lay_over(row)
        own = Examples(examples.x[part], examples.y[part])
        loss = train(flat, own, told, node, cross_entropy)
        assert losses[node].item() == pytest.approx(loss, rel=1e-12)
        torch.testing.assert_close(block[node], row - start, rtol=1e-9, atol=1e-12)
        assert sums[node].item() == pytest.approx(block[node].sum().item(), abs=1e-12)


def test_only_a_linear_layer_that_learns_whole_is_softmax_regression():
    assert is_softmax_regression(nn.Linear(3, 2))
    assert is_softmax_regression(nn.Sequential(nn.Flatten(), nn.Linear(3, 2)))
    half = nn.Linear(3, 2)
    half.bias.requires_grad_(False)
    deep = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 2))
    assert not any(map(is_softmax_regression, (half, deep, nn.Linear(3, 2, bias=False))))


@pytest.mark.parametrize(
    ("x", "y", "told"),
    [
        (torch.zeros(2, 3), [0, 2], {}),
        (torch.zeros(2, 3), [0, -1], {}),
        (torch.zeros(2, 3).double(), [0, 1], {}),
        (torch.zeros(3, 2).T, [0, 1], {}),
        (torch.zeros(2, 3), [0, 1], {"momentum": 0.9}),
    ],
    ids=["label too high", "label below 0", "another type", "not in rows", "momentum"],
)
def test_what_the_loop_cannot_do_is_left_to_pytorch(x, y, told):
    instructions = Instructions(round=1)
    fine = Examples(torch.zeros(2, 3), torch.tensor([0, 1]))
    order = torch.tensor([[1, 0]])
    assert can_descend(fine, instructions, torch.zeros(8), 2, order)
    odd = Examples(x, torch.tensor(y))
    assert not can_descend(odd, Instructions(round=1, **told), torch.zeros(8), 2, order)
