"""Threads that cannot change a bit.

PyTorch splits a sum over as many threads as it was given, and the split shows in the last bits. So
arithmetic runs with one thread inside each operator, and what is independent runs side by side.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import cache
from queue import SimpleQueue
from typing import Generic, TypeVar

import torch


@contextmanager
def one_thread() -> Iterator[None]:
    """Inside, every PyTorch operator runs on one thread."""
    before = torch.get_num_threads()
    if before == 1:
        yield
        return
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


most = [10**6]  # cores that this process wants to use


def cores() -> int:
    """How many cores this process may use."""
    return min(_cores(), most[0])


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


T = TypeVar("T")
Item = TypeVar("Item")
Result = TypeVar("Result")


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(cores(), "fedadp-slabs", torch.set_num_threads, (1,))


def side_by_side(work: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
    """The results in the order of the items, from all cores, a few items at a time."""
    items = list(items)
    under_way: deque[Future[Result]] = deque()
    with one_thread():
        if len(items) == 1:  # waking another thread takes longer than a small slab
            yield work(items[0])
            return
        for item in items:
            under_way.append(_pool().submit(work, item))
            if len(under_way) > 2 * cores():
                yield under_way.popleft().result()
        while under_way:
            yield under_way.popleft().result()


class Crew(Generic[T]):
    """Threads side by side, each with a tool of its own, such as a copy of the model."""

    def __init__(self, make: Callable[[], T], workers: int) -> None:
        self._tools: SimpleQueue[T] = SimpleQueue()
        for _ in range(workers):
            self._tools.put(make())
        self._pool = ThreadPoolExecutor(
            workers, "fedadp", initializer=torch.set_num_threads, initargs=(1,)
        )

    def map(self, work: Callable[[T, Item], Result], items: Iterable[Item]) -> list[Result]:
        """The results in the order of the items, whoever finishes first."""
        with one_thread():
            futures = [self._pool.submit(self._lend, work, item) for item in items]
            try:
                return [future.result() for future in futures]
            finally:
                for future in futures:
                    future.cancel()  # after a failure, what has not begun need not
                wait(futures)

    def _lend(self, work: Callable[[T, Item], Result], item: Item) -> Result:
        tool = self._tools.get()
        try:
            return work(tool, item)
        finally:
            self._tools.put(tool)
