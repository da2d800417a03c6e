"""The exam can be failed: each of these strategies has one bug, and is caught by its check."""

from dataclasses import dataclass

import pytest
import torch

from fedadp import Step, Strategy, Weighed, Weighting
from fedadp.testing import strategies as exam


@dataclass
class Thawed(Weighting):
    alpha: float = 5.0

    def init(self):
        return None

    def weigh(self, state, cohort):
        return Weighed(cohort.shares, None, {})


@dataclass(frozen=True)
class Base(Weighting):
    def init(self):
        return {"last": torch.zeros(())}


@dataclass(frozen=True)
class ChangesItsState(Base):
    def weigh(self, state, cohort):
        state["last"] += 1
        return Weighed(cohort.shares, state, {})


@dataclass(frozen=True)
class FiledByPlace(Base):
    """Weighs the first reply most, whoever it is from."""

    def weigh(self, state, cohort):
        weights = torch.softmax(-torch.arange(len(cohort)).double(), dim=0)
        return Weighed(weights, state, {})


@dataclass(frozen=True)
class Forgets(Strategy):
    """Keeps what it has learnt in a class attribute that no checkpoint holds."""

    def init(self):
        return Memory()

    def step(self, state, cohort):
        delta = cohort.combine(cohort.shares) * (1 + state.rounds)
        return Step(delta, Memory(state.rounds + 1), {})


class Memory:
    def __init__(self, rounds=0):
        self.rounds = rounds


@dataclass(frozen=True)
class DividesByZero(Base):
    def weigh(self, state, cohort):
        norms = cohort.geometry().norms
        return Weighed(norms / norms.sum(), state, {})


@dataclass(frozen=True)
class DoesNotSumToOne(Base):
    def weigh(self, state, cohort):
        return Weighed(cohort.shares * 2, state, {})


@dataclass(frozen=True)
class NeverMoves(Strategy):
    def init(self):
        return ()

    def step(self, state, cohort):
        return Step(torch.zeros(cohort.size), state, {})


@dataclass(frozen=True)
class Noisy(Strategy):
    def init(self):
        return ()

    def step(self, state, cohort):
        return Step(torch.randn(cohort.size), state, {})


CAUGHT = [
    (Thawed(), exam.it_is_frozen, "frozen"),
    (ChangesItsState(), exam.it_is_pure, "changed the state"),
    (Noisy(), exam.it_is_pure, "two different steps"),
    (FiledByPlace(), exam.the_order_of_replies_does_not_show, "another order"),
    (DividesByZero(), exam.odd_updates_give_no_nan, "not finite"),
    (DoesNotSumToOne(), exam.one_node_decides_alone, "sum to 1"),
    (Noisy(), exam.no_updates_make_no_step, "made a step"),
    (NeverMoves(), exam.it_learns, "loss is 0.693"),
]


@pytest.mark.parametrize(("strategy", "check", "says"), CAUGHT)
def test_a_bug_is_caught(strategy, check, says):
    with pytest.raises(AssertionError, match=says):
        check(strategy)


def test_a_state_that_no_checkpoint_can_hold_is_refused():
    with pytest.raises(Exception, match="Memory cannot be kept in a checkpoint"):
        exam.the_state_survives_a_checkpoint(Forgets())
