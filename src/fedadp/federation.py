"""Who holds what: an experiment's data, dealt out to its nodes."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from fedadp.core import Examples
from fedadp.data import Dataset, Partition, Source
from fedadp.errors import DataError


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
    parts = partition.split(labels, dataset.classes, seed)
    for node, part in enumerate(parts):
        if len(part) == 0:
            raise DataError(
                f"partition: node {node} gets no examples; ask for fewer nodes or a milder skew"
            )
    counts = torch.stack([labels[part].bincount(minlength=dataset.classes) for part in parts])
    order = torch.cat(parts)
    examples = Examples(dataset.prepare(dataset.train.x[order]), labels[order])
    held = Held(examples, [len(part) for part in parts])
    kinds = partition.describe(dataset.classes, seed)
    return Federation(held, test, dataset.classes, counts, kinds)


_last: list[tuple[Source, Dataset, Examples]] = []  # a sweep's runs share their data


def _loaded(source: Source) -> tuple[Dataset, Examples]:
    """The data set and its test examples, ready for a model."""
    if not (_last and _last[0][0] == source):
        dataset = source.load()
        _last[:] = [(source, dataset, Examples(dataset.prepare(dataset.test.x), dataset.test.y))]
    return _last[0][1:]
