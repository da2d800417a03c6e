"""Inner loops, compiled where numba is installed (the extra `fast`); None elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import torch

COMPILED = (torch.float32, torch.float64)  # what the loops take


@cache
def compiled(loop: Callable[..., Any], *, any_order: bool = False) -> Any:
    """The loop as machine code, without the GIL.

    In `any_order` sums are taken eight at a time; NaN stays NaN.
    """
    try:
        import numba
    except ImportError:
        return None
    fastmath = {"reassoc", "contract", "nsz"} if any_order else False
    return numba.njit(nogil=True, cache=True, fastmath=fastmath)(loop)
