"""What weights and angles give away of a node, from the paper's committed runs."""

from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

RESULTS = Path(__file__).parents[1] / "paper" / "results" / "mlr"
LATER = 10  # a round in which the smoothed angle has settled


def leaks() -> dict[str, Any]:
    """Areas under the ROC curve, in percent: 50 tells nothing, 100 tells all."""
    scores: dict[str, list[float]] = {}
    runs = sorted(RESULTS.glob("*/fedadp-seed-*/metrics.jsonl"))
    for path in runs:
        held = np.array(json.loads((path.parent / "nodes.json").read_text())["examples_per_class"])
        lines = path.read_text().splitlines()
        first, later = json.loads(lines[0]), json.loads(lines[min(LATER, len(lines)) - 1])
        skewed = (held > 0).sum(axis=1) < held.shape[1]
        angle, weight = np.array(later["smoothed_angle"]), np.array(later["weight"])
        _add(scores, "holds few classes, from its smoothed angle", angle[skewed], angle[~skewed])
        _add(scores, "holds few classes, from its weight", -weight[skewed], -weight[~skewed])
        first_angle = np.array(first["angle"])
        _add(
            scores, "holds few classes, from its first angle alone",
            first_angle[skewed], first_angle[~skewed],
        )  # fmt: skip
        single = [node for node in np.flatnonzero(skewed) if (held[node] > 0).sum() == 1]
        pairs = list(combinations(single, 2))
        apart = {pair: abs(first_angle[pair[0]] - first_angle[pair[1]]) for pair in pairs}
        same = [apart[p] for p in pairs if held[p[0]].argmax() == held[p[1]].argmax()]
        other = [apart[p] for p in pairs if held[p[0]].argmax() != held[p[1]].argmax()]
        what = "two nodes of one class hold the same class, from how near their first angles are"
        _add(scores, what, np.array(other), np.array(same))
    told = {name: _told(values) for name, values in scores.items()}
    return {"runs": len(runs), "round": LATER, "areas": told}


def _add(scores: dict[str, list[float]], name: str, high: Any, low: Any) -> None:
    """How often the one is higher than the other, as a part of all pairs."""
    if len(high) and len(low):
        wins = (high[:, None] > low[None, :]).mean() + 0.5 * (high[:, None] == low[None, :]).mean()
        scores.setdefault(name, []).append(float(wins))


def _told(values: list[float]) -> dict[str, float]:
    low, middle, high = (round(100 * float(np.quantile(values, q)), 1) for q in (0.1, 0.5, 0.9))
    return {"runs": len(values), "median": middle, "from": low, "to": high}
