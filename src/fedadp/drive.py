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
from fedadp.folder import Folder
from fedadp.loop import Engine, Round, federate
from fedadp.promises import first_state
from fedadp.runs import Record, Run

log = logging.getLogger("fedadp")
SECONDS_BETWEEN_CHECKPOINTS = 10.0
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
        cohort = self._engine.train(params, buffers, told, nodes)
        self.seconds = time.perf_counter() - begin
        return cohort


class Stage(NamedTuple):
    """Where an experiment is carried out: who holds what, and an engine for its nodes."""

    federation: Federation
    opened: Callable[[nn.Module], AbstractContextManager[Engine]]
    pause: float = SECONDS_BETWEEN_CHECKPOINTS  # 0.0 where a round costs more than a file


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
    with home.held(restart):
        return home.run(_rounds(experiment, home, watch or (lambda _: None), stage))


def _rounds(
    experiment: Experiment, home: Folder, watch: Watch, stage: Stage | None
) -> list[Record]:
    strategy, seed = experiment.strategy, experiment.seed
    kept, records = home.resume(first_state(strategy))
    ended = any(map(experiment.ends_with, records))
    if records:
        state = "is finished already" if ended else "goes on"
        log.info("%s: %s, after round %d in %s", experiment.label, state, len(records), home.path)
    if ended:
        return records
    federation, opened, pause = stage or _here(experiment)
    home.describe(federation, goes_on=kept is not None)
    module = experiment.model.build(federation.shape, federation.classes, seed)
    flat = Flat(module)
    workers = experiment.engine.workers
    score = Evaluator(
        module, federation.test, seed=seed, workers=workers, device=experiment.engine.device
    )
    runtime = experiment.engine.resolve(experiment.model)
    log.info("%s: on engine %r, %d parameters", experiment.label, runtime.name, flat.size)
    done = saved = kept or Round(0, flat.read(), flat.read_buffers(), first_state(strategy))
    stack = ExitStack()
    engine = Timed(stack.enter_context(opened(module)))
    last_save, begin = time.monotonic(), time.perf_counter()
    last: Record = {}
    try:
        for now in federate(engine, strategy, done, experiment.training, seed=seed):
            trained = time.perf_counter()
            scores = score(now) if experiment.measures(now.number) else {}
            record = {**now.notes, "round": now.number, "nodes": now.nodes, **scores}
            end = time.perf_counter()
            seconds = {"train": engine.seconds, "evaluate": end - trained, "total": end - begin}
            begin = end
            last = home.append(record, seconds)  # alone: a run of weeks has many
            done = now
            watch(last)
            if experiment.ends_with(last):
                break
            if time.monotonic() - last_save >= pause:
                home.keep(done)
                saved, last_save = done, time.monotonic()
        log.info("%s: %s", experiment.label, _ending(last))
    finally:  # an interrupt or an error loses no round that was finished
        if done is not saved:
            home.keep(done)
        stack.close()
    return home.records()


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
