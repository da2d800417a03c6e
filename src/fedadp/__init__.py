"""Adaptive weighting for federated learning."""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False  # as type checkers know it; without `typing`, a command begins at once
if TYPE_CHECKING:
    from typing import Any

    from fedadp.core import Cohort as Cohort
    from fedadp.core import Examples as Examples
    from fedadp.core import Geometry as Geometry
    from fedadp.core import Instructions as Instructions
    from fedadp.core import Step as Step
    from fedadp.core import Strategy as Strategy
    from fedadp.core import Weighed as Weighed
    from fedadp.core import Weighting as Weighting
    from fedadp.core import Wrapping as Wrapping
    from fedadp.drive import run as run
    from fedadp.errors import FedadpError as FedadpError
    from fedadp.experiment import Experiment as Experiment
    from fedadp.experiment import load as load
    from fedadp.loop import Engine as Engine
    from fedadp.loop import Round as Round
    from fedadp.loop import federate as federate
    from fedadp.models import Model as Model
    from fedadp.runs import Run as Run
    from fedadp.runs import open_run as open_run
    from fedadp.runtime import Runtime as Runtime
    from fedadp.strategies import FedAdp as FedAdp
    from fedadp.strategies import FedAvg as FedAvg
    from fedadp.strategies import FedProx as FedProx
    from fedadp.strategies import FedSGD as FedSGD
    from fedadp.strategies import Momentum as Momentum
    from fedadp.strategies import Robust as Robust
    from fedadp.training import Training as Training

__version__ = "0.1.0"

# public names are imported when they are first used, so that `import fedadp` costs no torch
_PLACES = {
    "fedadp.core": (
        "Cohort", "Examples", "Geometry", "Instructions",
        "Step", "Strategy", "Weighed", "Weighting", "Wrapping",
    ),
    "fedadp.drive": ("run",),
    "fedadp.experiment": ("Experiment", "load"),
    "fedadp.models": ("Model",),
    "fedadp.runs": ("Run", "open_run"),
    "fedadp.runtime": ("Runtime",),
    "fedadp.errors": ("FedadpError",),
    "fedadp.loop": ("Engine", "Round", "federate"),
    "fedadp.strategies": ("FedAdp", "FedAvg", "FedProx", "FedSGD", "Momentum", "Robust"),
    "fedadp.training": ("Training",),
}  # fmt: skip
_ROOMS = ("data", "engines", "strategies", "testing")
_PLACE_OF = {name: place for place, names in _PLACES.items() for name in names}

__all__ = sorted([*_PLACE_OF, "__version__"])


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return import_module(f"fedadp.{name}")
    if name not in _PLACE_OF:
        raise AttributeError(f"module 'fedadp' has no attribute {name!r}")
    return getattr(import_module(_PLACE_OF[name]), name)


def __dir__() -> list[str]:
    return __all__
