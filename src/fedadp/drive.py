"""From an experiment to a run: the loop, watched, scored, and kept on disk."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from pathlib import Path
from typing import NamedTuple

from torch import Tensor, nn

from fedadp.core import Cohort, Instructions
from fedadp.evaluation import Evaluator
from fedadp.experiment import Experiment
from fedadp.federation import Federation, gather
from fedadp.flat import Flat
from fedadp.folder import Folder, Kept
from fedadp.keeper import Keeper
from fedadp.loop import Engine, Round, federate
from fedadp.promises import first_state
from fedadp.runs import Record, Run, count_rounds
from fedadp.stopping import check, keeping

log = logging.getLogger("fedadp")
Watch = Callable[[Record], None]


class Timed:
    """An engine, and how long it took the last time."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.seconds = 0.0

    @property
    def nodes(self) -> tuple[int, ...]:
        return self._engine.nodes

    def train(
        self, params: Tensor, buffers: Tensor, told: Instructions, nodes: Sequence[int]
    ) -> Cohort:
        begin = time.perf_counter()
        try:
            return self._engine.train(params, buffers, told, nodes)
        finally:  # an abandoned round takes its time, too
            self.seconds = time.perf_counter() - begin


class Stage(NamedTuple):
    """Where an experiment is carried out: who holds what, and an engine for its nodes."""

    federation: Federation
    opened: Callable[[nn.Module], AbstractContextManager[Engine]]
    pause: float | None = None  # seconds between checkpoints; 0.0 where a round costs more


def run(
    experiment: Experiment,
    folder: str | Path | None = None,
    *,
    restart: bool = False,
    watch: Watch | None = None,
    stage: Stage | None = None,
) -> Run:
    """Run an experiment, or go on where its folder left off; `watch` sees every new round.

    On this machine, unless a stage says where else.

    >>> import tempfile
    >>> from fedadp import Experiment, Model, data, run
    >>> small = Experiment(
    ...     data=data.Synthetic(), partition=data.Iid(nodes=4), model=Model("mlr"), rounds=3
    ... )
    >>> run(small, tempfile.mkdtemp()).rounds
    3
    """
    home = Folder(Path(folder or Path("runs") / experiment.slug), experiment)
    with keeping(), home.held():
        kept, records = _found(home, restart)
        if not any(map(experiment.ends_with, records)):
            _go_on(home, kept, watch or (lambda _: None), stage or _here(experiment))
            records = home.records()
        return home.run(records)


def _found(home: Folder, restart: bool) -> Kept:
    """What there is to go on from; what is done about it is said."""
    label, place = home.experiment.label, home.path
    if restart:
        if count := count_rounds(place):
            log.info("%s: starts over, and drops %d rounds in %s", label, count, place)
        return None, []
    kept, records = home.resume()
    if records:
        ended = any(map(home.experiment.ends_with, records))
        state = "is finished already" if ended else "goes on"
        log.info("%s: %s, after round %d in %s", label, state, len(records), place)
    return kept, records


def _go_on(home: Folder, kept: Round | None, watch: Watch, stage: Stage) -> None:
    """Add rounds to the folder, until the experiment is at its end."""
    experiment, federation = home.experiment, stage.federation
    strategy, seed, chosen = experiment.strategy, experiment.seed, experiment.engine
    module = experiment.model.build(federation.shape, federation.classes, seed)
    flat = Flat(module)
    score = Evaluator(
        module, federation.test, seed=seed, workers=chosen.workers, device=chosen.device
    )
    start = kept or Round(0, flat.read(), flat.read_buffers(), first_state(strategy))
    with ExitStack() as stack:
        engine = Timed(stack.enter_context(stage.opened(module)))
        home.begin(federation, anew=kept is None)
        runtime = chosen.resolve(experiment.model)
        log.info("%s: on engine %r, %d parameters", experiment.label, runtime.name, flat.size)
        keeper = stack.enter_context(Keeper(home, start, stage.pause))
        begin = time.perf_counter()
        last: Record = {}
        for now in federate(engine, strategy, start, experiment.training, seed=seed):
            trained = time.perf_counter()
            scores = score(now) if experiment.measures(now.number) else {}
            record = {**now.notes, "round": now.number, "nodes": now.nodes, **scores}
            end = time.perf_counter()
            seconds = {"train": engine.seconds, "evaluate": end - trained, "total": end - begin}
            begin = end
            last = home.append(record, seconds)  # alone: a run of weeks has many
            keeper.done(now)
            watch(last)
            if experiment.ends_with(last):
                break
            keeper.tend()
            check()
    log.info("%s: %s", experiment.label, _ending(last))


def _here(experiment: Experiment) -> Stage:
    """Everything on this machine, dealt out as the experiment says."""
    federation = gather(experiment.data, experiment.partition, experiment.seed)

    @contextmanager
    def opened(module: nn.Module) -> Iterator[Engine]:
        if experiment.engine.name == "flower":
            from fedadp.flower.simulation import simulate

            with closing(simulate(experiment, module, federation)) as engine:
                yield engine
        else:
            yield experiment.engine.open(module, federation.nodes)

    return Stage(federation, opened)


def _ending(record: Record) -> str:
    accuracy = record.get("accuracy")
    told = "" if accuracy is None else f", accuracy {accuracy:.2%}"
    return f"done after round {record['round']}{told}"
