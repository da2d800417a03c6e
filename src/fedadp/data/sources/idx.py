"""A folder of IDX files."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from pathlib import Path

from torch import Tensor

from fedadp.core import Examples
from fedadp.data.dataset import Dataset
from fedadp.data.idx import read_idx
from fedadp.data.sources.base import Source, class_count, statistics
from fedadp.errors import DataError


@dataclass(frozen=True)
class Idx(Source):
    """A folder with the four files that MNIST and its relatives come in, plain or gzipped."""

    path: str
    normalise: bool = True  # by the mean and standard deviation of the training inputs

    def load(self) -> Dataset:
        try:
            folder = Path(self.path).expanduser()
        except RuntimeError as error:
            raise DataError(
                f"data.path: {self.path!r} begins with nobody's home; give the whole path"
            ) from error
        train, test = read_folder(folder)
        mean, std = statistics(train.x) if self.normalise else (0.0, 1.0)
        return Dataset(folder.resolve().name, train, test, class_count(train, test), mean, std)


def read_folder(folder: Path) -> tuple[Examples, Examples]:
    """The training and the test part."""
    return _read_part(folder, "train"), _read_part(folder, "t10k")


def _read_part(folder: Path, part: str) -> Examples:
    x = _read(folder, f"{part}-images", 3)
    return Examples(x.unsqueeze(1), _read(folder, f"{part}-labels", 1).long())


def _read(folder: Path, what: str, dimensions: int) -> Tensor:
    names = [f"{what}{mark}idx{dimensions}-ubyte{end}" for mark, end in product("-.", ("", ".gz"))]
    for name in names:
        if (folder / name).is_file():
            break
    else:
        raise DataError(f"{folder}: has no {names[0]}, plain or as .gz; put it there")
    try:
        values = read_idx((folder / name).read_bytes(), str(folder / name))
    except OSError as error:
        raise DataError(f"{folder / name}: cannot be read ({error.strerror})") from error
    if values.dim() != dimensions:
        raise DataError(
            f"{folder / name}: has {values.dim()} dimensions instead of {dimensions}; "
            "is it another file under this name?"
        )
    return values
