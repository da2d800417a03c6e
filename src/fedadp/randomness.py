"""Randomness is addressed, not consumed.

A generator is made from (seed, purpose, round, node, ...), so that no engine, thread count, order
of arrival or resume can change what is drawn.
"""

from __future__ import annotations

import hashlib

import numpy as np
import torch


def address(seed: int, purpose: str, *where: int) -> int:
    """A 63-bit number that belongs to this seed, purpose and place alone.

    >>> address(0, "batches", 3, 7) == address(0, "batches", 3, 7) != address(0, "batches", 7, 3)
    True
    """
    words = ":".join([str(seed), purpose, *map(str, where)])
    return int.from_bytes(hashlib.blake2b(words.encode(), digest_size=8).digest(), "big") >> 1


def generator(seed: int, purpose: str, *where: int) -> torch.Generator:
    return torch.Generator().manual_seed(address(seed, purpose, *where))


def numpy_generator(seed: int, purpose: str, *where: int) -> np.random.Generator:
    return np.random.default_rng(address(seed, purpose, *where))
