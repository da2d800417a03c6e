"""What to run: a typed experiment, from one TOML file that is read strictly."""

from __future__ import annotations

import copy
import hashlib
import json
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import chain
from pathlib import Path
from typing import Any

import tomli_w

from fedadp.core import Strategy
from fedadp.data import PARTITIONS, SOURCES, ClassSkew, Mnist, Partition, Source
from fedadp.errors import SettingError, require
from fedadp.hints import Strict
from fedadp.models import Model
from fedadp.runtime import Runtime
from fedadp.settings import Registries, build, choose, dump
from fedadp.strategies import STRATEGIES, FedAdp, FedAvg
from fedadp.tables import DEEPEST_TABLE, read_toml
from fedadp.training import Training

REGISTRIES: Registries = {Strategy: STRATEGIES, Source: SOURCES, Partition: PARTITIONS}
STOPS = ("rounds", "target")  # say when to stop, not what happens until then
MOST_ROUNDS = 10**9
MOST_RUNS = 1000  # of one file: a few lists multiply to more than anybody waits for
CELL = re.compile(r"[a-z0-9][a-z0-9.+-]*")  # a cell's name is a folder's


@dataclass(frozen=True, kw_only=True)
class Experiment(Strict):
    """One run, before it is run: the paper's settings, unless told otherwise.

    >>> from fedadp import Experiment, FedAvg
    >>> Experiment(strategy=FedAvg(), seed=3).label
    'fedavg, seed 3'
    """

    data: Source = field(default_factory=Mnist)
    partition: Partition = field(default_factory=ClassSkew)
    model: Model = field(default_factory=Model)
    training: Training = field(default_factory=Training)
    strategy: Strategy[Any] = field(default_factory=FedAdp)
    engine: Runtime = field(default_factory=Runtime)
    rounds: int = 300
    target: float | None = None  # stop once the test accuracy is this high
    evaluate_every: int = 1
    seed: int = 0

    def __post_init__(self) -> None:
        wanted = f"1 and more, at most {MOST_ROUNDS}"
        require(1 <= self.rounds <= MOST_ROUNDS, "rounds", self.rounds, wanted)
        hit = self.target
        require(hit is None or 0 < hit <= 1, "target", hit, "a number above 0, at most 1, as 0.95")
        every = self.evaluate_every
        require(every >= 1, "evaluate_every", every, "1 and more")
        require(0 <= self.seed < 2**63, "seed", self.seed, "a whole number from 0 up")

    @property
    def label(self) -> str:
        return f"{describe(self.strategy)}, seed {self.seed}"

    @property
    def slug(self) -> str:
        """The label, as a folder's name; a few digits tell unusual settings apart."""
        usual = describe(self.strategy) in STRATEGIES
        text = self.label if usual else f"{self.label} {_digest(self.table()['strategy'])[:6]}"
        return re.sub(r"[^a-z0-9.]+", "-", text.lower()).strip("-")

    def measures(self, number: int) -> bool:
        """Whether the model is tested after this round."""
        return number % self.evaluate_every == 0 or number == self.rounds

    def ends_with(self, record: Mapping[str, Any]) -> bool:
        """Whether the round with these metrics is the last."""
        reached = self.target is not None and (record.get("accuracy") or 0.0) >= self.target
        return reached or record["round"] >= self.rounds

    def table(self) -> dict[str, Any]:
        """The experiment as TOML would have it."""
        return dump(self, REGISTRIES)  # type: ignore[no-any-return]

    def toml(self) -> str:
        return tomli_w.dumps(self.table())

    @property
    def identity(self) -> dict[str, Any]:
        """What the bits of a run depend on: all but when to stop and what it runs on."""
        table = self.table()
        for name in STOPS:
            table.pop(name, None)
        # one engine in two gives the same bits: what counts is whether nodes train together
        table["engine"] = (
            "batched" if self.engine.resolve(self.model).name == "batched" else "exact"
        )
        return table

    @property
    def digest(self) -> str:
        return _digest(self.identity)


def _digest(table: dict[str, Any]) -> str:
    text = json.dumps(table, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def describe(strategy: Strategy[Any]) -> str:
    """A strategy's name, and those of its settings that are not the usual ones."""
    table = dump(strategy, REGISTRIES)
    name = str(table["name"]).rpartition(":")[2]
    told: list[str] = []
    for f in fields(strategy):  # type: ignore[arg-type]
        value = getattr(strategy, f.name)
        if isinstance(value, Strategy):
            told.insert(0, describe(value))
        elif value != f.default:
            told.append(f"{f.name}={value}")
    return f"{name}({', '.join(told)})" if told else name


def load(path: str | Path, overrides: Sequence[str] = ()) -> list[Experiment]:
    """The experiments of a file; more than one where it lists several strategies or seeds."""
    return [one for cell in load_cells(path, overrides).values() for one in cell]


def load_cells(path: str | Path, overrides: Sequence[str] = ()) -> dict[str, list[Experiment]]:
    """The experiments of a file, cell by cell; one cell without a name where it has none."""
    file = Path(path)
    table = read_toml(file)
    for override in overrides:
        table = _overridden(table, override)
    if not table:  # days of work that nobody asked for
        raise SettingError(file.name, "holds no settings; give at least one, as rounds = 100")
    return parse_cells(table, file.name)


def parse(table: Mapping[str, Any], place: str = "experiment") -> list[Experiment]:
    """The experiments of a table: every strategy with every seed, in every cell."""
    return [one for cell in parse_cells(table, place).values() for one in cell]


def parse_cells(table: Mapping[str, Any], place: str) -> dict[str, list[Experiment]]:
    if "cells" not in table:
        _check_runs([table], place)
        return {"": _swept(table, place)}
    cells, place = table["cells"], f"{place}.cells"
    rest = {key: value for key, value in table.items() if key != "cells"}
    if not isinstance(cells, dict) or not cells:
        raise SettingError(place, "cells are tables with a name each, as [cells.mild]")
    for name, cell in cells.items():
        if not CELL.fullmatch(name):
            way = "use small letters, digits and any of . + -"
            raise SettingError(place, f"{name!r} cannot be a folder's name; {way}")
        if not isinstance(cell, dict):
            raise SettingError(f"{place}.{name}", "it takes a table of settings")
    tables = {name: _laid_over(rest, cell) for name, cell in cells.items()}
    _check_runs(tables.values(), place)
    return {name: _swept(cell, f"{place}.{name}") for name, cell in tables.items()}


def _check_runs(tables: Iterable[Mapping[str, Any]], place: str) -> None:
    """Before any is made."""

    def many(value: Any) -> int:
        return len(value) if isinstance(value, list) else 1

    runs = sum(many(table.get("seed")) * many(table.get("strategy")) for table in tables)
    if runs > MOST_RUNS:
        raise SettingError(place, f"{runs:,} runs in one file; at most {MOST_RUNS:,}, so cut it up")


def _laid_over(table: Mapping[str, Any], cell: Mapping[str, Any]) -> dict[str, Any]:
    """The table with a cell's settings in place of its own; tables are mixed key by key."""
    both = {}
    for key, value in cell.items():
        below = table.get(key, _usual(key))
        below = {"name": below} if isinstance(below, str) else below
        mixed = isinstance(value, dict) and isinstance(below, dict)
        both[key] = _laid_over(below, value) if mixed else value
    return {**table, **both}


def _swept(table: Mapping[str, Any], place: str) -> list[Experiment]:
    """Every strategy with every seed."""
    seeds = table.get("seed", 0)
    strategies = table.get("strategy", "fedadp")
    found = []
    for i, seed in enumerate(_listed(seeds, f"{place}.seed")):
        for j, strategy in enumerate(_listed(strategies, f"{place}.strategy")):
            try:
                one = {**table, "seed": seed, "strategy": strategy}
                found.append(build(Experiment, one, place, REGISTRIES))
            except SettingError as error:
                raise _numbered(error, place, seed=(seeds, i), strategy=(strategies, j)) from None
    width = len(_listed(strategies, place))
    for row in (found[:width], found[::width]):  # every strategy once, every seed once
        for i, experiment in enumerate(row):
            if experiment in row[:i]:
                twice = f"{experiment.label!r} is there twice; each run is needed once"
                raise SettingError(place, twice)
    return found


def rivals(experiments: Sequence[Experiment], names: Sequence[str]) -> list[Experiment]:
    """The experiments under each of these strategies, or under their own and FedAvg."""
    own = _unique(experiment.strategy for experiment in experiments)
    strategies = _unique([FedAvg(), *own])
    if names:  # with the file's settings, where it has that strategy
        wanted = [choose(Strategy, name, "--strategy", REGISTRIES) for name in names]
        there = [[mine for mine in own if type(mine) is type(one)] or [one] for one in wanted]
        strategies = _unique(chain.from_iterable(there))
    seeds = {experiment.seed: experiment for experiment in experiments}
    return [replace(one, strategy=strategy) for one in seeds.values() for strategy in strategies]


def _unique(strategies: Iterable[Strategy[Any]]) -> list[Strategy[Any]]:
    found: list[Strategy[Any]] = []
    for strategy in strategies:
        if strategy not in found:
            found.append(strategy)
    return found


def _listed(value: Any, place: str) -> list[Any]:
    if isinstance(value, list) and not value:
        raise SettingError(place, "an empty list; name at least one")
    return value if isinstance(value, list) else [value]


def _numbered(error: SettingError, place: str, **lists: tuple[Any, int]) -> SettingError:
    """In a list, say which entry is meant."""
    for name, (value, index) in lists.items():
        head = f"{place}.{name}"
        if isinstance(value, list) and (error.field + ".").startswith(head + "."):
            return SettingError(f"{head}[{index}]{error.field[len(head) :]}", error.problem)
    return error


def _overridden(table: dict[str, Any], override: str) -> dict[str, Any]:
    """The table with one setting changed, as in "strategy.alpha=3"."""
    path, equals, text = override.partition("=")
    if not equals or not path.strip():
        raise SettingError("--set", f"{override!r} is not possible; write it as strategy.alpha=3")
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except (ValueError, RecursionError):
        value = text.strip()  # a bare word is a text
    table = copy.deepcopy(table)
    *tables, last = (part.strip() for part in path.split("."))
    if len(tables) > DEEPEST_TABLE:
        raise SettingError("--set", f"tables inside one another, at most {DEEPEST_TABLE} deep")
    here: Any = table
    for part in tables:
        if isinstance(here.get(part), str):
            here[part] = {"name": here[part]}
        here = here.setdefault(part, _usual(part) if here is table else {})
        if isinstance(here, list):
            raise SettingError("--set", f"{part} is a list here; change it in the file")
        if not isinstance(here, dict):
            raise SettingError("--set", f"{part} holds no settings, so {override!r} cannot be set")
    here[last] = value
    return table


def _usual(part: str) -> dict[str, Any]:
    """What a part is called where a file does not name it."""
    table = Experiment().table().get(part)
    return {"name": table["name"]} if isinstance(table, dict) and "name" in table else {}
