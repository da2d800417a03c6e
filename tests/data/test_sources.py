import gzip
import struct

import numpy as np
import pytest
import torch

from fedadp.core import Examples
from fedadp.data.sources import SOURCES, Arrays, Idx, Mnist, Synthetic
from fedadp.errors import DataError, SettingError


def test_every_source_has_a_line_that_says_what_it_is():
    lines = {(source.__doc__ or "").splitlines()[0] for source in SOURCES.values()}
    assert len(lines) == len(SOURCES)
    assert not any(line.startswith(tuple(c.__name__ for c in SOURCES.values())) for line in lines)


def test_known_data_sets_say_where_their_files_can_be_put(tmp_path, monkeypatch):
    monkeypatch.setenv("FEDADP_DATA", str(tmp_path / "file"))
    (tmp_path / "file").touch()
    with pytest.raises(DataError, match="file/mnist: cannot be written"):
        Mnist().load()


@pytest.mark.parametrize("shape", [[20], (1, 28, 28)])
def test_synthetic_data_has_the_shape_that_was_asked_for(shape):
    data = Synthetic(examples=30, test=10, shape=shape, classes=3).load()
    assert data.train.x.shape == (30, *shape)
    assert data.test.x.shape == (10, *shape)
    assert data.train.y.bincount().tolist() == [10, 10, 10]
    assert hash(Synthetic(shape=shape)) == hash(Synthetic(shape=tuple(shape)))


def test_the_same_seed_makes_the_same_synthetic_data_and_another_seed_other():
    one, same, other = (Synthetic(seed=seed).load().train for seed in (1, 1, 2))
    assert torch.equal(one.x, same.x)
    assert torch.equal(one.y, same.y)
    assert not torch.equal(one.x, other.x)


@pytest.mark.parametrize(("separation", "low", "high"), [(0.0, 0.0, 0.2), (8.0, 0.98, 1.0)])
def test_separation_makes_synthetic_classes_hard_or_easy_to_tell_apart(separation, low, high):
    data = Synthetic(separation=separation).load()
    centres = torch.stack([data.train.x[data.train.y == c].mean(dim=0) for c in range(10)])
    right = (torch.cdist(data.test.x, centres).argmin(dim=1) == data.test.y).double().mean()
    assert low <= right <= high


def test_centres_lie_as_far_apart_as_was_asked():
    train = Synthetic(examples=1000, shape=[100], separation=50.0).load().train
    centres = torch.stack([train.x[train.y == c].mean(dim=0) for c in range(10)])
    assert torch.pdist(centres).mean().item() == pytest.approx(50, rel=0.05)


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("examples", 0),
        ("test", 0),
        ("shape", []),
        ("shape", [3, 0]),
        ("classes", 1),
        ("separation", -1.0),
        ("separation", float("nan")),
    ],
)
def test_impossible_synthetic_data_is_refused_by_the_name_of_the_setting(setting, value):
    with pytest.raises(SettingError, match=f"^{setting}: "):
        Synthetic(**{setting: value})


def write_idx(path, values):
    raw = struct.pack(f">HBB{values.ndim}I", 0, 8, values.ndim, *values.shape) + values.tobytes()
    path.write_bytes(gzip.compress(raw) if path.suffix == ".gz" else raw)


@pytest.fixture
def folder(tmp_path):
    x = np.arange(5 * 3 * 2, dtype=np.uint8).reshape(5, 3, 2)
    y = np.array([0, 1, 2, 1, 0], dtype=np.uint8)
    write_idx(tmp_path / "train-images-idx3-ubyte", x)
    write_idx(tmp_path / "train-labels.idx1-ubyte", y)
    write_idx(tmp_path / "t10k-images.idx3-ubyte.gz", x[:2])
    write_idx(tmp_path / "t10k-labels-idx1-ubyte.gz", y[:2])
    return tmp_path


def test_a_folder_of_idx_files_is_read_under_any_of_their_usual_names(folder):
    data = Idx(str(folder)).load()
    assert data.train.x.shape == (5, 1, 3, 2)
    assert data.test.x.flatten().tolist() == list(range(12))
    assert data.train.y.tolist() == [0, 1, 2, 1, 0]
    assert (data.name, data.classes) == (folder.name, 3)


def test_training_inputs_are_normalised_to_mean_0_and_standard_deviation_1(folder):
    data = Idx(str(folder)).load()
    x = data.prepare(data.train.x).double()
    assert x.mean().item() == pytest.approx(0, abs=1e-6)
    assert x.std(correction=0).item() == pytest.approx(1, abs=1e-6)
    plain = Idx(str(folder), normalise=False).load()
    assert (plain.mean, plain.std) == (0.0, 1.0)


def test_a_folder_that_lacks_a_file_or_holds_another_says_which(folder):
    (folder / "t10k-labels-idx1-ubyte.gz").unlink()
    with pytest.raises(DataError, match=r"has no t10k-labels-idx1-ubyte, plain or as \.gz"):
        Idx(str(folder)).load()
    write_idx(folder / "t10k-labels.idx1-ubyte", np.zeros((2, 2), dtype=np.uint8))
    with pytest.raises(DataError, match="has 2 dimensions instead of 1"):
        Idx(str(folder)).load()


X = np.arange(12).reshape(4, 3)
Y = [0, 1, 2, 1]


@pytest.mark.parametrize(
    "part",
    [
        (X, Y),
        (X.tolist(), np.array(Y, dtype=float)),
        (torch.tensor(X).double(), torch.tensor(Y)),
        Examples(torch.tensor(X), torch.tensor(Y, dtype=torch.uint8)),
    ],
)
def test_arrays_of_any_kind_become_floats_and_labels(part):
    data = Arrays(part, part).load()
    assert data.train.x.dtype == torch.float32
    assert data.train.x.tolist() == X.tolist()
    assert data.train.y.tolist() == Y
    assert data.classes == 3


def test_arrays_of_bytes_stay_bytes_and_own_their_memory():
    x = np.zeros((4, 1, 2, 2), dtype=np.uint8)
    x.setflags(write=False)
    data = Arrays((x, Y), (x, Y), classes=5).load()
    assert data.train.x.dtype == torch.uint8
    assert data.classes == 5


@pytest.mark.parametrize(
    ("part", "complaint"),
    [
        ((X, [0, 1, 2, 0.5]), "arrays.test: a label is not a whole number"),
        ((X, ["a", "b", "c", "d"]), "arrays.test: the labels are not an array of numbers"),
        (([[1], [2, 3]], [0, 1]), "arrays.test: the inputs are not an array of numbers"),
        ((X, [0, 1, 2]), "the test part has inputs of shape"),
        ((X, [0, 1, 2, 3]), "label 3"),
    ],
)
def test_arrays_that_are_no_examples_are_refused(part, complaint):
    with pytest.raises(DataError, match=complaint):
        Arrays((X, Y), part, classes=3).load()
