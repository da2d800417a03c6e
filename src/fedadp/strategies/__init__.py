"""One published method per file; each turns the geometry of a round into a step."""

from fedadp.strategies.fedadp import FedAdp
from fedadp.strategies.fedavg import FedAvg
from fedadp.strategies.fedprox import FedProx
from fedadp.strategies.fedsgd import FedSGD
from fedadp.strategies.momentum import Momentum

__all__ = ["FedAdp", "FedAvg", "FedProx", "FedSGD", "Momentum"]
