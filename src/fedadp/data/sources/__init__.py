"""Where a data set comes from; each source is a frozen record of settings that can be loaded."""

from fedadp.data.sources.arrays import Arrays
from fedadp.data.sources.base import Source
from fedadp.data.sources.hub import Hub
from fedadp.data.sources.idx import Idx
from fedadp.data.sources.known import FashionMnist, Mnist
from fedadp.data.sources.synthetic import Synthetic

__all__ = ["SOURCES", "Arrays", "FashionMnist", "Hub", "Idx", "Mnist", "Source", "Synthetic"]

SOURCES: dict[str, type[Source]] = {
    "mnist": Mnist,
    "fashion-mnist": FashionMnist,
    "synthetic": Synthetic,
    "idx": Idx,
    "arrays": Arrays,
    "hub": Hub,
}
