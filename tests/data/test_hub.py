import sys

import numpy as np
import pytest

from fedadp.data.sources import Hub
from fedadp.errors import DataError, MissingExtraError


@pytest.fixture
def datasets(tmp_path, monkeypatch):
    datasets = pytest.importorskip("datasets")
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    datasets.disable_progress_bars()
    return datasets


@pytest.fixture
def folder(datasets, tmp_path):
    """Six grey pictures, each as bright as its number, of two classes."""
    features = datasets.Features(
        {
            "picture": datasets.Image(),
            "kind": datasets.ClassLabel(names=["even", "odd", "neither"]),
            "grey": datasets.List(datasets.Value("float32")),
        }
    )
    rows = {
        "picture": [np.full((4, 3), number, dtype=np.uint8) for number in range(6)],
        "kind": [number % 2 for number in range(6)],
        "grey": [[number / 255, 1.0] for number in range(6)],
    }
    whole = datasets.Dataset.from_dict(rows, features=features)
    (tmp_path / "greys").mkdir()
    whole.to_parquet(tmp_path / "greys" / "train.parquet")
    whole.select(range(2)).to_parquet(tmp_path / "greys" / "test.parquet")
    return str(tmp_path / "greys")


def test_a_folder_of_parquet_files_is_read_and_its_columns_are_guessed(folder):
    data = Hub(folder).load()
    assert data.train.x.shape == (6, 1, 4, 3)
    assert data.train.x[:, 0, 0, 0].tolist() == [0, 1, 2, 3, 4, 5]
    assert data.train.y.tolist() == [0, 1, 0, 1, 0, 1]
    assert len(data.test) == 2
    assert (data.name, data.classes) == ("greys", 3)
    assert data.mean == pytest.approx(2.5 / 255)


def test_columns_and_parts_can_be_named(folder):
    data = Hub(folder, x="grey", y="kind", train="train[:4]", test="train[4:]").load()
    assert data.train.x.shape == (4, 2)
    assert data.test.x[:, 0].tolist() == pytest.approx([4 / 255, 5 / 255])


def test_coloured_pictures_have_three_channels(datasets, tmp_path):
    red = np.zeros((2, 2, 3), dtype=np.uint8)
    red[..., 0] = 9
    features = datasets.Features({"image": datasets.Image(), "label": datasets.Value("int64")})
    rows = datasets.Dataset.from_dict({"image": [red, red], "label": [0, 1]}, features=features)
    for part in ("train", "test"):
        rows.to_parquet(tmp_path / "reds" / f"{part}.parquet")
    data = Hub(str(tmp_path / "reds")).load()
    assert data.train.x.shape == (2, 3, 2, 2)
    assert data.train.x[0, :, 0, 0].tolist() == [9, 0, 0]
    assert data.classes == 2


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"x": "pictures"}, "has no column 'pictures'; known: picture, kind, grey"),
        ({"y": "picture"}, "which column is x cannot be guessed; set x to one of"),
        ({"x": "grey", "y": "picture"}, r"labels of shape \(6, 4, 3\)"),
        ({"test": "exam"}, "cannot be loaded from the hub .*exam"),
        ({"x": "kind"}, "which column is y cannot be guessed; set y to one of"),
    ],
)
def test_what_cannot_be_guessed_or_found_is_asked_for(folder, settings, complaint):
    with pytest.raises(DataError, match=complaint):
        Hub(folder, **settings).load()


def test_pictures_of_different_sizes_are_refused(datasets, tmp_path):
    features = datasets.Features({"image": datasets.Image(), "label": datasets.Value("int64")})
    pictures = [np.zeros((side, 2), dtype=np.uint8) for side in (2, 3)]
    rows = datasets.Dataset.from_dict({"image": pictures, "label": [0, 1]}, features=features)
    for part in ("train", "test"):
        rows.to_parquet(tmp_path / "odd" / f"{part}.parquet")
    with pytest.raises(DataError, match="pictures of 2 sizes"):
        Hub(str(tmp_path / "odd")).load()


def test_a_missing_extra_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'fedadp\[hub\]'"):
        Hub("someone/something").load()
