"""Where a node's seat comes from: dealt out of a whole data set, or read where the node is."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from pathlib import Path
from typing import TYPE_CHECKING

from flwr.app import Context

from fedadp.core import Examples
from fedadp.engines.inprocess import Workshop
from fedadp.errors import SettingError
from fedadp.federation import gather
from fedadp.flower.node import Seat
from fedadp.flower.site import read_site

if TYPE_CHECKING:
    from fedadp.experiment import Experiment

Named = tuple[str, Workshop]
# virtual nodes in one process share their workshop; a process may serve one run after the other
_last: dict[Hashable, Named] = {}


def virtual_seat(what: str, experiment: Experiment, context: Context, _: int) -> Seat:
    """A seat of a node whose data is dealt out of the experiment's."""

    def make() -> Named:
        federation = gather(experiment.data, experiment.partition, experiment.seed)
        module = experiment.model.build(federation.shape, federation.classes, experiment.seed)
        return "", Workshop(module, federation.nodes)

    number, (name, shop) = _number(context), _kept(what, make)
    if number not in shop.data:
        raise SettingError(
            "node-config.partition-id",
            f"{number} is not possible where data are dealt to {len(shop.nodes)} nodes; set "
            "partition.nodes in the experiment, or give this node a site.toml",
        )
    return Seat(number, name, shop)


def real_seat(what: str, experiment: Experiment, context: Context, classes: int) -> Seat:
    """The seat of a node that has data of its own, as its site.toml says."""
    path, given = Path(str(context.node_config["site"])), _number(context)

    def make() -> Named:
        site = read_site(path)
        own = site.data.load()
        examples = Examples(own.prepare(own.train.x), own.train.y)
        module = experiment.model.build(tuple(examples.x.shape[1:]), classes, experiment.seed)
        return site.name, Workshop(
            module, {given if site.number is None else site.number: examples}
        )

    name, shop = _kept((what, path, classes, given), make)
    return Seat(shop.nodes[0], name, shop)


def _kept(key: Hashable, make: Callable[[], Named]) -> Named:
    if key not in _last:
        made = make()
        _last.clear()
        _last[key] = made
    return _last[key]


def _number(context: Context) -> int:
    number = context.node_config.get("partition-id", 0)
    if not isinstance(number, int):
        raise SettingError("node-config.partition-id", f"{number!r} is not a whole number")
    return number
