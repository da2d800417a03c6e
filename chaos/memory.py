"""How fast a process grows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def slope(samples: Sequence[Sequence[float]], after: float = 0.25) -> float:
    """KB per round, over the rounds past the first part, in which caches fill.

    >>> slope([[10, 500.0], [20, 700.0], [30, 710.0], [40, 720.0]])
    1.0
    """
    begin = samples[0][0] + after * (samples[-1][0] - samples[0][0])
    rounds, sizes = np.array([pair for pair in samples if pair[0] >= begin]).T
    return round(float(np.polyfit(rounds, sizes, 1)[0]), 3)
