"""Randomness is addressed, not consumed.

A generator is made from (seed, purpose, round, node, ...), so that no engine, thread count, order
of arrival or resume can change what is drawn.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

Words = np.ndarray[Any, np.dtype[np.uint64]]


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


def few_of(count: int, total: int, draw: torch.Generator) -> list[int]:
    """The first numbers of `torch.randperm`'s shuffle, without making the rest of it.

    >>> few_of(3, 10**6, generator(0, "sampling", 1)) == torch.randperm(
    ...     10**6, generator=generator(0, "sampling", 1)
    ... )[:3].tolist()
    True
    """
    moved: dict[int, int] = {}  # what a swap has put elsewhere
    chosen = []
    for place in range(count):
        other = place + int(torch.randint(total - place, (), generator=draw))
        chosen.append(moved.get(other, other))
        moved[other] = moved.get(place, place)
    return chosen


def shuffles(keys: Words, count: int, epoch: int = 0) -> np.ndarray[Any, np.dtype[np.int64]]:
    """For each key (k,) a shuffle (k, count) of the numbers below `count`.

    Every number's place is a hash of key and number (SplitMix64's), so that the shuffles of a
    thousand nodes are one sort, and the bits are no library's to change.

    >>> sorted(shuffles(np.array([7], dtype=np.uint64), 4)[0].tolist())
    [0, 1, 2, 3]
    """
    numbers = np.arange(1 + epoch * count, 1 + (epoch + 1) * count, dtype=np.uint64)
    return np.argsort(_mixed(keys[:, None] + numbers * GOLDEN), axis=1)  # all hashes differ


def node_keys(seed: int, purpose: str, round: int, nodes: Sequence[int]) -> Words:  # noqa: A002
    """A 64-bit key per node (k,), for this seed, purpose and round."""
    base = np.uint64(address(seed, purpose, round))
    ids = np.array([node % 2**64 for node in nodes], dtype=np.uint64)
    return _mixed(_mixed(ids * GOLDEN + GOLDEN) + base)


GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def _mixed(z: Words) -> Words:
    """SplitMix64's finaliser: every bit of a number depends on every bit."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))
