"""The paper's partitions: nodes that hold few classes beside nodes that hold many, or all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fedadp.data.partitions.base import count_nodes
from fedadp.data.partitions.draw import Drawn
from fedadp.errors import DataError, require
from fedadp.randomness import numpy_generator


@dataclass(frozen=True)
class ClassSkew(Drawn):
    """Some nodes draw from everything, the others from a few classes each (the paper's III-B).

    >>> ClassSkew(iid=3, skewed=2, classes=[1, 2]).describe(classes=10, seed=0)
    ('iid', 'iid', 'iid', '1-class', '2-class')
    """

    iid: int = 5
    skewed: int = 5
    classes: int | Sequence[int] = 1  # of each skewed node, or one number per skewed node
    examples: int = 600
    overlap: bool = False

    def __post_init__(self) -> None:
        count_nodes(self.iid, "iid", 0)
        count_nodes(self.skewed, "skewed", 0)
        require(self.nodes >= 1, "skewed", self.skewed, "1 or more when iid is 0")
        require(self.examples >= 1, "examples", self.examples, "a whole number from 1 up")
        each = self.classes
        if not isinstance(each, int):
            object.__setattr__(self, "classes", tuple(each))  # a list cannot be hashed
            fits = len(each) == self.skewed
            require(fits, "classes", each, f"one number for each of {self.skewed} skewed nodes")
        lowest = each if isinstance(each, int) else min(each, default=1)
        require(lowest >= 1, "classes", each, "whole numbers from 1 up")

    @property
    def nodes(self) -> int:
        return self.iid + self.skewed

    def counts(self, classes: int, seed: int) -> tuple[int | None, ...]:  # noqa: ARG002
        each = self.classes
        skewed = (each,) * self.skewed if isinstance(each, int) else each
        return (*[None] * self.iid, *skewed)


@dataclass(frozen=True)
class Case1(Drawn):
    """Each node draws from another number of classes (the paper's V-A, case 1).

    >>> sorted(Case1(nodes=3).describe(classes=3, seed=0))
    ['1-class', '2-class', '3-class']
    """

    nodes: int = 10
    examples: int = 600
    overlap: bool = False

    def __post_init__(self) -> None:
        _at_least_one(self)

    def counts(self, classes: int, seed: int) -> tuple[int | None, ...]:
        if self.nodes > classes:
            raise DataError(
                f"partition.nodes: {self.nodes} nodes cannot each hold another number of classes "
                f"when there are {classes}; ask for {classes} nodes or fewer"
            )
        drawn = numpy_generator(seed, "class counts").permutation(classes) + 1
        return tuple(drawn[: self.nodes].tolist())


@dataclass(frozen=True)
class Case2(Drawn):
    """Half the nodes draw from few classes, the other half from many (the paper's V-A, case 2).

    >>> Case2(nodes=2).counts(classes=2, seed=0)
    (1, 2)
    """

    nodes: int = 10
    examples: int = 600
    overlap: bool = False

    def __post_init__(self) -> None:
        _at_least_one(self)

    def counts(self, classes: int, seed: int) -> tuple[int | None, ...]:
        half = max(classes // 2, 1)
        few, many = (1, half), (min(half + 1, classes), classes)
        ranges = [few if 2 * node < self.nodes else many for node in range(self.nodes)]
        return tuple(
            int(numpy_generator(seed, "class counts", node).integers(low, high, endpoint=True))
            for node, (low, high) in enumerate(ranges)
        )


def _at_least_one(case: Case1 | Case2) -> None:
    count_nodes(case.nodes)
    require(case.examples >= 1, "examples", case.examples, "a whole number from 1 up")
