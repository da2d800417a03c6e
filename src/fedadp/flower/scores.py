"""Averages of what nodes say of themselves; one that lies or is silent spoils nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from flwr.app import MetricRecord, RecordDict

from fedadp.errors import UpdateError
from fedadp.flower.replies import count
from fedadp.flower.schema import Values


def average_scores(contents: Sequence[RecordDict], key: str) -> MetricRecord:
    """Each metric's average by share, over the nodes that told it as finite numbers.

    >>> told = [(1, 0.5), (3, 0.75), (9, float("nan"))]
    >>> records = [MetricRecord({"num-examples": n, "accuracy": a}) for n, a in told]
    >>> average_scores([RecordDict({"metrics": r}) for r in records], "num-examples")
    {'accuracy': 0.6875}
    """
    told: dict[str, list[tuple[int, Values]]] = {}
    for content in contents:
        metrics = next(iter(content.metric_records.values()), MetricRecord())
        try:
            examples = count(metrics, key)
        except UpdateError:
            continue
        for name, value in metrics.items():
            numbers = np.asarray(value, dtype=np.float64)
            if name != key and np.isfinite(numbers).all():
                told.setdefault(name, []).append((examples, numbers))
    return MetricRecord({name: _average(pairs) for name, pairs in told.items()})


def _average(told: Sequence[tuple[int, Values]]) -> float | list[float]:
    (usual, _), *_ = Counter(numbers.shape for _, numbers in told).most_common(1)
    kept = [(examples, numbers) for examples, numbers in told if numbers.shape == usual]
    counts = np.array([examples for examples, _ in kept], dtype=np.float64)
    mean: float | list[float] = np.average(
        [numbers for _, numbers in kept], axis=0, weights=counts
    ).tolist()
    return mean
