import pytest
import torch

from fedadp.core import Examples
from fedadp.data.dataset import Dataset
from fedadp.errors import DataError


def some(count=4, features=3):
    return Examples(torch.zeros(count, features), torch.arange(count) % 2)


def test_bytes_are_normalised_and_floats_pass():
    white = Examples(torch.full((1, 1, 2, 2), 255, dtype=torch.uint8), torch.tensor([0]))
    data = Dataset("white", white, white, 1, mean=0.5, std=0.25)
    assert data.prepare(white.x).tolist() == [[[[2.0, 2.0], [2.0, 2.0]]]]
    assert white.x.min() == 255
    floats = torch.randn(2, 3)
    assert torch.equal(data.prepare(floats), floats)
    assert data.prepare(floats.double()).dtype == torch.float32


@pytest.mark.parametrize(
    ("train", "complaint"),
    [
        (Examples(torch.zeros(3, 3), torch.zeros(2).long()), "shape"),
        (Examples(torch.zeros(0, 3), torch.zeros(0).long()), "empty"),
        (Examples(torch.zeros(2, 0), torch.zeros(2).long()), "empty"),
        (Examples(torch.zeros(2, 3), torch.tensor([0, 2])), "label 2; 2 classes go from 0 to 1"),
        (Examples(torch.zeros(2, 3), torch.tensor([0, -1])), "label -1"),
        (Examples(torch.zeros(2, 3), torch.tensor([0.0, 1.0])), "labels of type torch.float32"),
        (Examples(torch.zeros(2, 3).double(), torch.tensor([0, 1])), "inputs of type"),
        (
            Examples(torch.tensor([[0.0, 0, 0], [0, float("nan"), 0]]), torch.tensor([0, 1])),
            "not finite in example 1",
        ),
        (some(features=4), r"shape \(4,\) and test inputs \(3,\)"),
    ],
)
def test_examples_that_cannot_be_learnt_from_are_refused(train, complaint):
    with pytest.raises(DataError, match=f"^odd: .*{complaint}"):
        Dataset("odd", train, some(), 2)


@pytest.mark.parametrize(("mean", "std"), [(float("nan"), 1.0), (0.0, 0.0), (0.0, float("inf"))])
def test_inputs_cannot_be_divided_by_nothing(mean, std):
    with pytest.raises(DataError, match="cannot be normalised"):
        Dataset("odd", some(), some(), 2, mean, std)


def test_there_must_be_classes():
    with pytest.raises(DataError, match="0 classes"):
        Dataset("odd", some(), some(), 0)
