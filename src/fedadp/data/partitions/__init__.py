"""How a training set is dealt out to the nodes; each way is a frozen record of settings."""

from fedadp.data.partitions.base import Partition
from fedadp.data.partitions.dealt import Iid, Shards
from fedadp.data.partitions.dirichlet import Dirichlet, Quantity
from fedadp.data.partitions.paper import Case1, Case2, ClassSkew

__all__ = [
    "PARTITIONS",
    "Case1",
    "Case2",
    "ClassSkew",
    "Dirichlet",
    "Iid",
    "Partition",
    "Quantity",
    "Shards",
]

PARTITIONS: dict[str, type[Partition]] = {
    "paper": ClassSkew,
    "case1": Case1,
    "case2": Case2,
    "iid": Iid,
    "dirichlet": Dirichlet,
    "shards": Shards,
    "quantity": Quantity,
}
