"""What became of the theorems: how often each inequality held, in words and in a picture."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fedadp.paper.drawing import STRATEGY_COLOURS, legend, panels, save
from fedadp.paper.theory import terms_of

ROUNDING = 1e-12
HEAD = (
    "| run | beta | beta seen | F falls | bound holds | bound promises a fall | "
    "with beta seen: holds, promises | Theorem 2, instantaneous | Theorem 2, smoothed |\n"
    "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
)


@dataclass(frozen=True)
class Verdict:
    """Of one run: in how many of its rounds each thing was so."""

    label: str
    rounds: int
    beta: float
    beta_seen: float
    falls: int
    holds: int
    promises: int
    holds_as_seen: int
    promises_as_seen: int
    instantaneous: int
    smoothed: int

    def row(self) -> str:
        cells = [
            self.label, f"{self.beta:.0f}", f"{self.beta_seen:.1f}",
            *(f"{n} of {self.rounds}" for n in (self.falls, self.holds, self.promises)),
            f"{self.holds_as_seen}, {self.promises_as_seen} of {self.rounds}",
            *(f"{n} of {self.rounds}" for n in (self.instantaneous, self.smoothed)),
        ]  # fmt: skip
        return "| " + " | ".join(cells) + " |"


def judge(path: Path) -> Verdict:
    """A run's terms, counted."""
    terms: dict[str, Any] = json.loads(path.read_text())
    falls, promised = terms["decrease"], terms["promised"]
    pairs = zip(terms["gain"], terms["cost"], strict=True)
    as_seen = [gain - terms["beta_seen"] * cost for gain, cost in pairs]
    return Verdict(
        terms["strategy"],
        len(falls),
        terms["beta"],
        terms["beta_seen"],
        _count(falls, [0.0] * len(falls)),
        _count(falls, promised),
        _count(promised, [0.0] * len(falls)),
        _count(falls, as_seen),
        _count(as_seen, [0.0] * len(falls)),
        _count(terms["under_instantaneous"], terms["under_fedavg"]),
        _count(terms["under_smoothed"], terms["under_fedavg"]),
    )


def _count(larger: Sequence[float], smaller: Sequence[float]) -> int:
    return sum(a >= b - ROUNDING for a, b in zip(larger, smaller, strict=True))


def verdicts(folder: Path) -> list[Verdict]:
    return [judge(path) for path in terms_of(folder)]


def draw_theory(folder: Path, out: Path) -> None:
    """Left: the fall of F beside the bound, one step a round. Right: Theorem 2's two sides."""
    figure, [[left, right]] = panels(1, 2, 4.6, 3.2)
    for path in terms_of(folder):
        if "seed-0" not in path.name:
            continue
        terms = json.loads(path.read_text())
        rounds = range(1, len(terms["loss"]) + 1)
        if terms["strategy"].startswith("fedsgd"):
            name = terms["strategy"].removeprefix("fedsgd(").partition(")")[0]
            colour = STRATEGY_COLOURS[name]
            left.plot(rounds, terms["decrease"], color=colour, label=f"{name}: fall of F")
            left.plot(rounds, terms["promised"], "--", color=colour, label=f"{name}: bound")
        elif terms["strategy"].startswith("fedadp"):
            for side, style in (("fedavg", "-"), ("instantaneous", "--"), ("smoothed", ":")):
                right.plot(rounds, terms[f"under_{side}"], style, label=side, color="#0b6e4f")
    left.set(xlabel="round", title="Theorem 1, one step a round")
    left.set_yscale("symlog", linthresh=1e-3)
    right.set(xlabel="round", title="Theorem 2: mean cosine under the weights")
    for axes in (left, right):
        legend(axes, 7)
    save(figure, out, "theory")
