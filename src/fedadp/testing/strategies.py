"""The exam of a strategy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import FrozenInstanceError, fields, is_dataclass
from typing import Any

import torch
from safetensors.torch import load, save
from torch import Tensor, nn

from fedadp.cohort import Cohort
from fedadp.core import Step, Strategy
from fedadp.engines import Sequential
from fedadp.flat import Flat
from fedadp.local import cross_entropy
from fedadp.loop import Round, federate
from fedadp.states import pack, same_bits, unpack
from fedadp.testing.toys import toy_cohort, toy_nodes
from fedadp.training import Training

Check = Callable[[Strategy[Any]], None]


def check_strategy(strategy: Strategy[Any]) -> None:
    """Put a strategy through every check; an AssertionError says what it got wrong.

    >>> from fedadp import FedAdp, Momentum
    >>> check_strategy(Momentum(FedAdp()))
    """
    for check in STRATEGY_EXAM:
        check(strategy)


def it_is_frozen(strategy: Strategy[Any]) -> None:
    expect(is_dataclass(strategy), "a strategy is a frozen dataclass")
    for field in fields(strategy):  # type: ignore[arg-type]
        try:
            setattr(strategy, field.name, getattr(strategy, field.name))
        except FrozenInstanceError:
            continue
        expect(False, f"the setting {field.name!r} can be changed; declare the dataclass frozen")


def it_is_pure(strategy: Strategy[Any]) -> None:
    state, cohort = _warm(strategy), toy_cohort(range(5), seed=9)
    before = _copied(state)
    one, two = strategy.step(state, cohort), strategy.step(state, cohort)
    expect(same_bits(before, state), "step changed the state it was given; return a new one")
    expect(_same(one, two), "the same state and cohort gave two different steps")


def the_order_of_replies_does_not_show(strategy: Strategy[Any]) -> None:
    state = _warm(strategy)
    updates = torch.randn(4, 300, generator=torch.Generator().manual_seed(1))
    nodes, examples = [4, 0, 7, 2], [10.0, 20.0, 30.0, 40.0]
    straight = strategy.step(state, Cohort.of(nodes, updates, examples))
    places = [2, 0, 3, 1]
    shuffled = strategy.step(
        state,
        Cohort.of([nodes[i] for i in places], updates[places], [examples[i] for i in places]),
    )
    expect(torch.equal(straight.delta, shuffled.delta), "another order gave another step")
    expect(same_bits(straight.state, shuffled.state), "another order gave another state")
    for name, note in straight.notes.items():
        if isinstance(note, Tensor) and note.shape == (4,):
            again = shuffled.notes[name]
            expect(torch.equal(note[places], again), f"note {name!r} is not kept by node")


def the_state_survives_a_checkpoint(strategy: Strategy[Any]) -> None:
    there = back = strategy.init()
    for seed, nodes in enumerate([(0, 1, 2, 3), (0, 2), (1, 3, 5), (0, 1, 2, 3, 5)]):
        cohort = toy_cohort(nodes, seed)
        one, two = strategy.step(there, cohort), strategy.step(back, cohort)
        expect(_same(one, two), "a state that was saved and loaded went on differently")
        there, back = one.state, _copied(two.state, strategy.init())
        expect(same_bits(there, back), "the state is not the same after a checkpoint")


def one_node_decides_alone(strategy: Strategy[Any]) -> None:
    cohort = toy_cohort([6])
    step = strategy.step(strategy.init(), cohort)
    _sound(step, 1)
    if "weight" in step.notes:
        expect(float(step.notes["weight"]) == 1.0, "the only node does not get weight 1")


def an_unseen_node_is_welcome(strategy: Strategy[Any]) -> None:
    _sound(strategy.step(_warm(strategy), toy_cohort([0, 1, 77], seed=5)), 3)


def odd_updates_give_no_nan(strategy: Strategy[Any]) -> None:
    row = torch.randn(64, generator=torch.Generator().manual_seed(0))
    zero = torch.zeros(64)
    for rows in (
        [row, zero, row.flip(0)],
        [zero, zero, zero],
        [row, row, row],
        [row, -row],
        [row * 1e-38, row.flip(0) * 1e-38],
        [row.sign() * 1e38, row.flip(0).sign() * 1e38],
        [row * 1e30, row.flip(0) * 1e-30],
    ):
        cohort = Cohort.of(range(len(rows)), torch.stack(rows), [10.0] * len(rows))
        for state in (strategy.init(), _after(strategy, cohort)):
            _sound(strategy.step(state, cohort), len(rows))


def no_updates_make_no_step(strategy: Strategy[Any]) -> None:
    step = strategy.step(strategy.init(), Cohort.of([0, 1], torch.zeros(2, 9), [5, 7]))
    expect(not step.delta.any(), "updates that are all zero made a step")


def it_learns(strategy: Strategy[Any]) -> None:
    nodes = toy_nodes((40, 30, 50), features=6)
    model = nn.Linear(6, 2)
    engine = Sequential(model, nodes)
    x, y = (torch.cat([getattr(n, part) for n in nodes.values()]) for part in ("x", "y"))
    flat = Flat(model)
    start = Round(0, torch.zeros(flat.size))
    for now in federate(engine, strategy, start, Training(learning_rate=0.05, batch_size=10)):
        if now.number == 40:
            flat.lay_over(now.params)
            loss = float(cross_entropy(model(x), y).detach())
            expect(
                loss < 0.45, f"after 40 rounds the toy federation's loss is {loss:.3f}, from 0.693"
            )
            return


STRATEGY_EXAM: tuple[Check, ...] = (
    it_is_frozen,
    it_is_pure,
    the_order_of_replies_does_not_show,
    the_state_survives_a_checkpoint,
    one_node_decides_alone,
    an_unseen_node_is_welcome,
    odd_updates_give_no_nan,
    no_updates_make_no_step,
    it_learns,
)


def expect(holds: bool, otherwise: str) -> None:
    if not holds:
        raise AssertionError(otherwise)


def _warm(strategy: Strategy[Any]) -> Any:
    """A state that has seen two rounds."""
    state = strategy.init()
    for seed in (1, 2):
        state = strategy.step(state, toy_cohort(range(5), seed)).state
    return state


def _after(strategy: Strategy[Any], cohort: Cohort) -> Any:
    return strategy.step(strategy.init(), cohort).state


def _copied(state: Any, template: Any = None) -> Any:
    """Through the checkpoint's format and back."""
    tensors: dict[str, Tensor] = {}
    packed = pack(state, "state", tensors)
    loaded = load(save({name: t.clone() for name, t in tensors.items()})) if tensors else {}
    return unpack(state if template is None else template, packed, "state", loaded)


def _same(one: Step[Any], other: Step[Any]) -> bool:
    return torch.equal(one.delta, other.delta) and same_bits(one.state, other.state)


def _sound(step: Step[Any], nodes: int) -> None:
    expect(bool(torch.isfinite(step.delta).all()), "the step is not finite")
    weights = step.notes.get("weight")
    if isinstance(weights, Tensor):
        expect(weights.shape == (nodes,), f"{tuple(weights.shape)} weights for {nodes} nodes")
        expect(weights.dtype == torch.float64, "weights are not float64")
        expect(bool((weights >= 0).all()), "a weight is negative, or not a number")
        expect(abs(float(weights.sum()) - 1) < 1e-12, "the weights do not sum to 1")
