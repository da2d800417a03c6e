"""FedAdp, and every other strategy of fedadp, for Flower apps: `from fedadp.flower import FedAdp`.

One machine needs none of this; past one machine fedadp runs on Flower.
"""

from fedadp.errors import MissingExtraError

try:
    import flwr as _flwr  # noqa: F401
except ImportError as error:
    raise MissingExtraError(
        "fedadp.flower: Flower is not installed; pip install 'fedadp[flower]'"
    ) from error

from fedadp.flower.apps import node_app, serve, server_app
from fedadp.flower.dropin import FedAdp, lift
from fedadp.flower.strategy import Lifted

__all__ = ["FedAdp", "Lifted", "lift", "node_app", "serve", "server_app"]
