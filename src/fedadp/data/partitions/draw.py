"""The drawing that the paper's partitions share: so many examples of so many classes a node."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np
from torch import Tensor

from fedadp.data.partitions.base import Indices, Partition, sorted_places
from fedadp.errors import DataError
from fedadp.randomness import numpy_generator


class Drawn(Partition):
    """A partition whose nodes each draw some examples of some classes."""

    examples: int  # of each node
    overlap: bool  # whether two nodes may hold the same example

    @abstractmethod
    def counts(self, classes: int, seed: int) -> tuple[int | None, ...]:
        """How many classes each node holds; None: it draws from the whole training set."""

    def split(self, labels: Tensor, classes: int, seed: int) -> tuple[Tensor, ...]:
        label = labels.numpy()
        free = np.ones(len(label), dtype=bool)
        held: list[Indices] = []
        for node, count in enumerate(self.counts(classes, seed)):
            chosen = None if count is None else _choose(classes, seed, node, count)
            pool = np.flatnonzero(free if chosen is None else free & np.isin(label, chosen))
            if self.examples > len(pool):
                raise DataError(self._shortage(node, chosen, len(pool)))
            rng = numpy_generator(seed, "examples", node)
            held.append(pool[rng.choice(len(pool), self.examples, replace=False, shuffle=False)])
            if not self.overlap:
                free[held[-1]] = False
        return sorted_places(held)

    def describe(self, classes: int, seed: int) -> tuple[str, ...]:
        counts = self.counts(classes, seed)
        return tuple("iid" if count is None else f"{count}-class" for count in counts)

    def _shortage(self, node: int, chosen: list[int] | None, left: int) -> str:
        place = f"partition.examples: node {node} asks for {self.examples} examples"
        if chosen is not None:
            names = ", ".join(map(str, chosen))
            place += f" of class {names}" if len(chosen) == 1 else f" of classes {names}"
        if self.overlap:
            return f"{place} but there are only {left}; ask for fewer"
        return f"{place} but only {left} are left; ask for fewer, or set overlap = true"


def _choose(classes: int, seed: int, node: int, count: int) -> list[int]:
    if count > classes:
        raise DataError(
            f"partition.classes: node {node} asks for {count} classes but there are {classes}; "
            "ask for fewer"
        )
    rng = numpy_generator(seed, "classes", node)
    return sorted(rng.choice(classes, count, replace=False).tolist())
