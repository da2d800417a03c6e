"""Data sets of the Hugging Face hub, or in its formats."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fedadp.core import Examples
from fedadp.data.dataset import Dataset
from fedadp.data.sources.base import Source, class_count, examples, statistics
from fedadp.errors import DataError, MissingExtraError

LABEL_NAMES = ("label", "labels", "y", "target")


@dataclass(frozen=True)
class Hub(Source):
    """Any labelled data set of the Hugging Face hub, or a local folder in one of its formats."""

    dataset: str  # such as "ylecun/mnist", or the path of a folder
    x: str | None = None  # the column of inputs; None: the only one that can be
    y: str | None = None  # the column of labels; None: the only one that can be
    train: str = "train"
    test: str = "test"
    revision: str | None = None
    normalise: bool = True  # by the mean and standard deviation of the training inputs

    def load(self) -> Dataset:
        try:
            import datasets
        except ImportError as error:
            raise MissingExtraError(
                f"{self.dataset}: the hub needs a package that is not installed; "
                "run pip install 'fedadp[hub]'"
            ) from error
        splits = [self.train, self.test]
        try:
            train, test = datasets.load_dataset(self.dataset, split=splits, revision=self.revision)
        except (OSError, ValueError, RuntimeError, datasets.exceptions.DatasetsError) as error:
            reason = " ".join(str(error).split())
            raise DataError(f"{self.dataset}: cannot be loaded from the hub ({reason})") from error
        x, y = self._columns(train.features)
        learn, check = self._part(train, x, y), self._part(test, x, y)
        classes = getattr(train.features[y], "num_classes", None) or class_count(learn, check)
        mean, std = statistics(learn.x) if self.normalise else (0.0, 1.0)
        return Dataset(Path(self.dataset).name, learn, check, classes, mean, std)

    def _columns(self, features: Any) -> tuple[str, str]:
        """The names of the inputs' and the labels' columns, guessed where only one guess fits."""
        for column in (self.x, self.y):
            if column is not None and column not in features:
                raise DataError(
                    f"{self.dataset}: has no column {column!r}; known: {', '.join(features)}"
                )
        labels = _of_kind(features, "ClassLabel") or [n for n in features if n in LABEL_NAMES]
        y = self.y or self._only("y", [name for name in labels if name != self.x], features)
        others = [name for name in features if name != y]
        images = [name for name in _of_kind(features, "Image") if name != y]
        return self.x or self._only("x", images or others, features), y

    def _only(self, setting: str, candidates: list[str], features: Any) -> str:
        if len(candidates) != 1:
            raise DataError(
                f"{self.dataset}: which column is {setting} cannot be guessed; "
                f"set {setting} to one of {', '.join(features)}"
            )
        return candidates[0]

    def _part(self, split: Any, x: str, y: str) -> Examples:
        columns = split.select_columns([x, y])
        if type(split.features[x]).__name__ == "Image":
            inputs = _pixels(self.dataset, columns.select_columns([x]), x)
        else:
            inputs = columns.with_format("numpy")[:][x]
        return examples(self.dataset, inputs, columns.with_format("numpy")[:][y])


def _of_kind(features: Any, kind: str) -> list[str]:
    return [name for name, feature in features.items() if type(feature).__name__ == kind]


def _pixels(name: str, rows: Any, column: str) -> Any:  # (N, C, H, W) uint8
    """Pictures as bytes: one channel when the first is grey, three otherwise."""
    mode = None
    arrays = []
    for row in rows:
        mode = mode or ("L" if row[column].mode in ("1", "L") else "RGB")
        pixels = np.asarray(row[column].convert(mode))
        arrays.append(pixels[None] if mode == "L" else pixels.transpose(2, 0, 1))
    sizes = {pixels.shape for pixels in arrays}
    if len(sizes) != 1:
        raise DataError(f"{name}: pictures of {len(sizes)} sizes; bring them to one size first")
    return np.stack(arrays)
