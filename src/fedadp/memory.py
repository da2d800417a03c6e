"""Blocks of memory are used again at the next step, not handed back and asked for anew."""

from __future__ import annotations

import ctypes
from functools import cache

MMAP_THRESHOLD, TRIM_THRESHOLD = -3, -1  # glibc's names for them, in malloc.h
LARGEST, SPARE = 2**25, 2**27


@cache
def keep_blocks() -> None:
    """Let glibc keep what a training step frees: up to 128 MB per thread.

    Otherwise each step of a CNN faults in, page by page, the megabytes that the step before handed
    back: a seventh of its time where activations are just below the largest block seen so far.
    Other C libraries go on as they do.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(MMAP_THRESHOLD, LARGEST)
        mallopt(TRIM_THRESHOLD, SPARE)
