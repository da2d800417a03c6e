"""What a source is, and what sources share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from fedadp.core import Examples
from fedadp.data.dataset import Dataset
from fedadp.errors import DataError
from fedadp.hints import Strict


@dataclass(frozen=True, eq=False)  # without fields, all would be equal
class Source(Strict, ABC):
    """Where a data set comes from."""

    @abstractmethod
    def load(self) -> Dataset:
        """The data set, in memory."""


def examples(place: str, x: Any, y: Any) -> Examples:
    """Examples from whatever holds numbers: bytes stay bytes, other inputs become floats."""
    inputs, labels = _tensor(f"{place}: the inputs", x), _tensor(f"{place}: the labels", y)
    whole = labels.to(torch.int64)
    if not bool((whole == labels).all()):
        raise DataError(f"{place}: a label is not a whole number; number the classes from 0")
    return Examples(inputs if inputs.dtype == torch.uint8 else inputs.float(), whole)


def statistics(x: Tensor) -> tuple[float, float]:
    """Mean and standard deviation of bytes, as fractions of 255; nothing to do for floats."""
    if x.dtype != torch.uint8:
        return 0.0, 1.0
    share = torch.bincount(x.flatten(), minlength=256).double() / x.numel()
    value = torch.arange(256, dtype=torch.float64) / 255
    mean = float(share @ value)
    return mean, float(share @ (value - mean).square()) ** 0.5 or 1.0


def class_count(*parts: Examples) -> int:
    """As many classes as the highest label needs."""
    return max((int(part.y.max()) + 1 for part in parts if len(part)), default=0)


def _tensor(place: str, values: Any) -> Tensor:
    if isinstance(values, Tensor):
        return values.detach().cpu()
    try:
        return torch.tensor(np.asarray(values))
    except (TypeError, ValueError) as error:
        raise DataError(f"{place} are not an array of numbers; all must be alike") from error
