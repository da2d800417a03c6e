"""The exam of an engine: it must agree with the plain reference."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import product
from typing import Any

import torch
from torch import Tensor, nn

from fedadp.core import Cohort, Examples, Instructions
from fedadp.engines import Sequential
from fedadp.errors import FedadpError, TrainingError
from fedadp.flat import Flat
from fedadp.loop import Engine
from fedadp.testing.strategies import expect
from fedadp.testing.toys import toy_model, toy_models, toy_nodes

Make = Callable[[nn.Module, Mapping[int, Examples]], Engine]
Check = Callable[[Make, float], None]

TOLD = (
    Instructions(round=1, batch_size=4, learning_rate=0.1),
    Instructions(round=4, seed=7, epochs=3, batch_size=4, learning_rate=0.1, momentum=0.9),
    Instructions(round=2, steps=5, batch_size=4, weight_decay=0.1, proximal=0.5),
    Instructions(round=9, steps=1, batch_size=None, learning_rate=0.5),
)


def check_engine(make: Make, tolerance: float = 0.0) -> None:
    """Put an engine through every check; a tolerance of 0 means the same bits as the reference.

    >>> from fedadp.engines import Threads
    >>> check_engine(lambda module, data: Threads(module, data, workers=2))
    """
    for check in ENGINE_EXAM:
        check(make, tolerance)


def it_agrees_with_the_reference(make: Make, tolerance: float) -> None:
    nodes = toy_nodes()
    for module, told in product(toy_models(), TOLD):
        flat = Flat(module)
        ours, reference = make(module, nodes), Sequential(module, nodes)
        expect(ours.nodes == reference.nodes, f"its nodes are {ours.nodes}, not {reference.nodes}")
        for asked in (reference.nodes, reference.nodes[1:3], reference.nodes[-1:]):
            one = ours.train(flat.read(), flat.read_buffers(), told, asked)
            two = reference.train(flat.read(), flat.read_buffers(), told, asked)
            expect(one.nodes == two.nodes, f"{one.nodes} replied where {asked} were asked")
            _alike("examples", one.examples, two.examples, 0.0)
            _alike("updates", _updates(one), _updates(two), tolerance)
            _alike("buffers", one.buffers, two.buffers, tolerance)
            _alike("losses", one.notes["loss"], two.notes["loss"], tolerance)


def it_repeats_itself(make: Make, _: float) -> None:
    module, nodes = toy_model(), toy_nodes()
    flat = Flat(module)
    params, buffers = flat.read(), flat.read_buffers()
    engine = make(module, nodes)
    first = _updates(engine.train(params, buffers, TOLD[0], engine.nodes)).clone()
    engine.train(params, buffers, TOLD[1], engine.nodes)
    again = _updates(engine.train(params, buffers, TOLD[0], engine.nodes))
    expect(torch.equal(first, again), "the same round twice gave two different cohorts")
    expect(torch.equal(params, flat.read()), "training changed the parameters it was given")


def an_update_carries_its_round(make: Make, _: float) -> None:
    module, nodes = toy_model(), toy_nodes()
    flat, engine = Flat(module), make(module, nodes)
    cohort = engine.train(flat.read(), flat.read_buffers(), TOLD[3], engine.nodes)
    expect(cohort.round == 9, f"the cohort says it is of round {cohort.round}, not 9")


def a_step_is_the_gradient(make: Make, _: float) -> None:
    line = nn.Linear(1, 2, bias=False)
    node = {0: Examples(torch.tensor([[1.0], [3.0]]), torch.tensor([0, 0]))}
    told = Instructions(round=1, steps=1, batch_size=None, learning_rate=0.1)
    cohort = make(line, node).train(torch.zeros(2), torch.zeros(0), told, (0,))
    # softmax(0) = 1/2, so the gradient is mean(x) (p - onehot) = 2 (-1/2, 1/2)
    found = _updates(cohort)[0]
    right = torch.allclose(found, torch.tensor([0.1, -0.1]), rtol=1e-6)
    expect(right, f"one step on a line moved it by {found.tolist()}, not by [0.1, -0.1]")


def a_diverging_node_is_left_out_and_named(make: Make, _: float) -> None:
    module, nodes = nn.Linear(6, 2), toy_nodes()
    flat = Flat(module)
    poison = {**nodes, 5: Examples(torch.full_like(nodes[5].x, torch.nan), nodes[5].y)}
    cohort = make(module, poison).train(flat.read(), flat.read_buffers(), TOLD[0], tuple(nodes))
    expect(
        5 not in cohort.nodes and len(cohort.nodes) == len(nodes) - 1,
        "a NaN update reached the cohort",
    )
    expect("nan" in cohort.refused.get(5, ""), f"refused is {cohort.refused}, without the reason")
    every = {n: Examples(torch.full_like(e.x, torch.nan), e.y) for n, e in nodes.items()}
    message = _complaint(lambda: make(module, every).train(*_start(flat), TOLD[0], tuple(nodes)))
    expect("round 1" in message, f"when all nodes diverge it says {message!r}")


def a_failure_names_node_round_and_step(make: Make, _: float) -> None:
    module, nodes = nn.Linear(6, 2), toy_nodes()
    flat = Flat(module)
    labels = torch.full_like(nodes[7].y, 99)
    broken = {**nodes, 7: Examples(nodes[7].x, labels)}
    message = _complaint(lambda: make(module, broken).train(*_start(flat), TOLD[1], tuple(nodes)))
    for part in ("node 7", "round 4", "step 1"):
        expect(part in message, f"a failing node's error does not say {part!r}: {message!r}")


ENGINE_EXAM: tuple[Check, ...] = (
    it_agrees_with_the_reference,
    it_repeats_itself,
    an_update_carries_its_round,
    a_step_is_the_gradient,
    a_diverging_node_is_left_out_and_named,
    a_failure_names_node_round_and_step,
)


def _start(flat: Flat) -> tuple[Tensor, Tensor]:
    return flat.read(), flat.read_buffers()


def _updates(cohort: Cohort) -> Tensor:  # (K, P)
    return torch.cat(list(cohort.slabs()), dim=1)


def _alike(name: str, ours: Tensor, theirs: Tensor, tolerance: float) -> None:
    if tolerance == 0.0:
        expect(torch.equal(ours, theirs), f"the {name} are not the reference's, bit for bit")
        return
    far = float((ours - theirs).norm() / theirs.norm().clamp(min=1e-30)) if theirs.numel() else 0.0
    expect(far <= tolerance, f"the {name} are {far:.1e} away from the reference's")


def _complaint(work: Callable[[], Any]) -> str:
    try:
        work()
    except TrainingError as error:
        return str(error)
    except FedadpError as error:
        expect(False, f"it raised {type(error).__name__}, not TrainingError: {error}")
    expect(False, "it went on as if nothing had happened")
    return ""
