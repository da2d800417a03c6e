"""What goes wrong with a reply: a matter of seed, round and node, not of what came before."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from flwr.app import RecordDict

from fedadp.randomness import address, numpy_generator
from fedadp.testing.garbage import GARBAGE

Corrupt = Callable[[int, RecordDict], RecordDict]  # a node's id and its reply


@dataclass(frozen=True)
class Fate:
    """What becomes of one reply."""

    trouble: str = ""  # "dropped", "late", "vanished", or a kind of garbage; "" where all is well
    looks: int = 0  # how often one looks before it is there
    repeated: bool = False

    @property
    def arrives(self) -> bool:
        """Whether it comes while it is waited for, as its node sent it."""
        return not self.trouble


@dataclass
class Faults:
    """What goes wrong, and how often; the same seed, round and node meet the same fate.

    >>> faults = Faults(drop=0.08, late=0.05, garbage=0.05, seed=3)
    >>> faults.fate("train", round=7, node=11) == faults.fate("train", round=7, node=11)
    True
    """

    drop: float = 0.0  # the chance that a reply never comes
    late: float = 0.0  # that it comes when nobody waits for it any more
    vanish: float = 0.0  # that its node goes away once it was asked, and the SuperLink says so
    garbage: float = 0.0  # that it is one of `GARBAGE` instead
    duplicate: float = 0.0  # that it comes twice
    delay: int = 0  # looks that a reply takes, at the most
    churn: float = 0.0  # that a node is offline for a spell of rounds
    spell: int = 10  # rounds
    gone: frozenset[int] = frozenset()  # nodes that are offline in any case
    corrupt: Mapping[int, Corrupt] = field(default_factory=dict)  # by node
    seed: int = 0

    def fate(self, kind: str, round: int, node: int) -> Fate:  # noqa: A002
        """Of the reply to a message of this kind."""
        dice = numpy_generator(self.seed, f"fate of {kind}", round, node)
        which, twice = dice.random(2).tolist()
        looks, what = int(dice.integers(self.delay + 1)), int(dice.integers(len(GARBAGE)))
        chances = {"dropped": self.drop, "late": self.late, "vanished": self.vanish}
        if not kind.startswith("query"):  # who cannot say who it is may not take part at all
            chances[list(GARBAGE)[what]] = self.garbage
        for trouble, chance in chances.items():
            if which < chance:
                return Fate(trouble, looks, twice < self.duplicate)
            which -= chance
        return Fate("", looks, twice < self.duplicate)

    def offline(self, round: int, node: int) -> bool:  # noqa: A002
        """Whether a node is away; its spells begin and end in rounds of its own."""
        if node in self.gone:
            return True
        shift = address(self.seed, "spell", node) % self.spell
        number = (round + shift) // self.spell
        return address(self.seed, "churn", number, node) / 2**63 < self.churn
