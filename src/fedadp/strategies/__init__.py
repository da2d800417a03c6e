"""One published method per file; each turns the geometry of a round into a step."""

from typing import Any

from fedadp.core import Strategy
from fedadp.strategies.fedadp import FedAdp
from fedadp.strategies.fedavg import FedAvg
from fedadp.strategies.fedprox import FedProx
from fedadp.strategies.fedsgd import FedSGD
from fedadp.strategies.momentum import Momentum
from fedadp.strategies.robust import Robust

__all__ = ["STRATEGIES", "FedAdp", "FedAvg", "FedProx", "FedSGD", "Momentum", "Robust"]

STRATEGIES: dict[str, type[Strategy[Any]]] = {
    "fedadp": FedAdp,
    "fedavg": FedAvg,
    "fedprox": FedProx,
    "fedsgd": FedSGD,
    "momentum": Momentum,
    "robust": Robust,
}
