"""What is learnt from, where it is had, and how it is dealt out to the nodes."""

from fedadp.data.dataset import Dataset
from fedadp.data.partitions import (
    PARTITIONS,
    Case1,
    Case2,
    ClassSkew,
    Dirichlet,
    Iid,
    Partition,
    Quantity,
    Shards,
)
from fedadp.data.sources import (
    SOURCES,
    Arrays,
    FashionMnist,
    Hub,
    Idx,
    Mnist,
    Source,
    Synthetic,
)

__all__ = [
    "PARTITIONS",
    "SOURCES",
    "Arrays",
    "Case1",
    "Case2",
    "ClassSkew",
    "Dataset",
    "Dirichlet",
    "FashionMnist",
    "Hub",
    "Idx",
    "Iid",
    "Mnist",
    "Partition",
    "Quantity",
    "Shards",
    "Source",
    "Synthetic",
]
