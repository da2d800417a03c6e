"""Who holds what: an experiment's data, dealt out to its nodes."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from fedadp.core import Examples
from fedadp.data import Dataset, Partition, Source
from fedadp.errors import DataError, FedadpError, reason, show


class Held(Mapping[int, Examples]):
    """Each node's examples: views of one tensor in which they lie side by side."""

    def __init__(self, all_of_them: Examples, sizes: list[int]) -> None:
        self.together = all_of_them
        x, y = torch.split(all_of_them.x, sizes), torch.split(all_of_them.y, sizes)
        self._nodes = [Examples(*pair) for pair in zip(x, y, strict=True)]

    def __getitem__(self, node: int) -> Examples:
        return self._nodes[node]

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self._nodes)))

    def __len__(self) -> int:
        return len(self._nodes)


@dataclass(frozen=True, eq=False)
class Federation:
    """Nodes with examples of their own, and examples that no node holds."""

    nodes: Held
    test: Examples
    classes: int
    counts: Tensor  # (nodes, classes)
    kinds: tuple[str, ...]  # of each node's data, such as "iid" or "1-class"

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.test.x.shape[1:])

    def digest(self) -> str:
        """A checksum of all examples, in the order in which nodes hold them."""
        total = hashlib.sha256()
        for examples in (self.nodes.together, self.test):
            for tensor in (examples.x, examples.y):
                total.update(f"{tensor.dtype} {list(tensor.shape)}".encode())
                memory: Any = tensor.contiguous().view(-1).view(torch.uint8).numpy()
                total.update(memory)
        return total.hexdigest()


def gather(source: Source, partition: Partition, seed: int) -> Federation:
    """Load the data and deal them out."""
    dataset, test = _loaded(source)
    labels = dataset.train.y
    if bool((labels == labels[0]).all()):
        raise DataError(
            f"data: {dataset.name} holds 1 class only, {int(labels[0])}; 2 or more are needed"
        )
    parts = _split(partition, labels, dataset.classes, seed)
    counts = torch.stack([labels[part].bincount(minlength=dataset.classes) for part in parts])
    order = torch.cat(parts)
    examples = Examples(dataset.prepare(dataset.train.x[order]), labels[order])
    held = Held(examples, [len(part) for part in parts])
    kinds = partition.describe(dataset.classes, seed)
    return Federation(held, test, dataset.classes, counts, kinds)


def _split(partition: Partition, labels: Tensor, classes: int, seed: int) -> tuple[Tensor, ...]:
    """Each node's places; whoever wrote the partition may have got them wrong."""
    with _asking("partition", partition):
        parts: Any = partition.split(labels, classes, seed)
        for node, part in enumerate(parts):
            if not isinstance(part, Tensor) or part.dim() != 1 or part.dtype != torch.int64:
                raise TypeError(f"node {node} gets {show(part)}; a tensor (D,) of int64 is needed")
    if not len(parts):
        raise DataError("partition: there is no node; at least one is needed")
    for node, part in enumerate(parts):
        if len(part) == 0:
            raise DataError(
                f"partition: node {node} gets no examples; ask for fewer nodes or a milder skew"
            )
        low, high = int(part.min()), int(part.max())
        if low < 0 or high >= len(labels):
            raise DataError(
                f"partition: node {node} gets example {low if low < 0 else high}; "
                f"they are numbered from 0 to {len(labels) - 1}"
            )
    return tuple(parts)


@contextmanager
def _asking(what: str, whom: Source | Partition) -> Iterator[None]:
    """Whatever it raises is one sentence, and says who raised it."""
    try:
        yield
    except FedadpError:
        raise
    except (Exception, SystemExit) as error:  # anybody's source or partition may raise anything
        kind = type(whom)
        where = f"{kind.__module__}:{kind.__qualname__}"
        raise DataError(f"{what}: {where!r} failed ({reason(error)}); mend it") from error


_last: list[tuple[tuple[Source, Path], Dataset, Examples]] = []  # a sweep's runs share their data


def _loaded(source: Source) -> tuple[Dataset, Examples]:
    """The data set and its test examples, ready for a model."""
    asked = source, Path.cwd()  # where a relative path begins
    if not (_last and _last[0][0] == asked):
        with _asking("data", source):
            dataset = source.load()
            if not isinstance(dataset, Dataset):
                raise TypeError(f"it gave {dataset!r}; a Dataset is needed")
        _last[:] = [(asked, dataset, Examples(dataset.prepare(dataset.test.x), dataset.test.y))]
    return _last[0][1:]
