"""What the machine can do: multiply, read memory, read a file. `python -m benchmarks.limits`"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import torch

SIZES = (768, 1024, 1536, 2048, 3072)


def _best(work: Callable[[], object], times: int) -> float:
    """Seconds of the quickest of several."""
    best = float("inf")
    for _ in range(times):
        begin = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - begin)
    return best


def gemm(sizes: tuple[int, ...]) -> float:
    """GFLOP/s of float32 matrix products on all cores: together on one, or side by side."""
    cores = len(os.sched_getaffinity(0))
    best = 0.0
    for size in sizes:
        pairs = [(torch.randn(size, size), torch.randn(size, size)) for _ in range(cores)]
        outs = [torch.empty(size, size) for _ in range(cores)]
        torch.set_num_threads(cores)
        one = _best(lambda: torch.mm(*pairs[0], out=outs[0]), 6)  # noqa: B023
        best = max(best, 2 * size**3 / one)
        with ThreadPoolExecutor(cores, initializer=torch.set_num_threads, initargs=(1,)) as pool:
            job = [(*pair, out) for pair, out in zip(pairs, outs, strict=True)]
            each = _best(lambda: list(pool.map(_product, job)), 6)  # noqa: B023
        best = max(best, cores * 2 * size**3 / each)
    return best / 1e9


def _product(job: tuple[torch.Tensor, torch.Tensor, torch.Tensor]) -> None:
    left, right, out = job
    torch.mm(left, right, out=out)


def bandwidth(megabytes: int = 1024) -> float:
    """GB/s of reading memory on all cores."""
    cores = len(os.sched_getaffinity(0))
    parts = torch.ones(cores, megabytes * 2**18 // cores)
    kinds: tuple[Callable[[torch.Tensor], object], ...] = (torch.sum, torch.max, lambda x: x @ x)
    best = float("inf")
    with ThreadPoolExecutor(cores, initializer=torch.set_num_threads, initargs=(1,)) as pool:
        for kind in kinds:
            best = min(best, _best(lambda: list(pool.map(kind, parts)), 5))  # noqa: B023
    return parts.numel() * 4 / best / 1e9


def disk(paths: list[str]) -> float:
    """GB/s of reading these files when they are not in the page cache, one after the other."""
    total, begin = 0, time.perf_counter()
    for path in paths:
        handle = os.open(path, os.O_RDONLY)
        os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
        buffer = bytearray(1 << 24)
        while count := os.readv(handle, [buffer]):
            total += count
        os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(handle)
    return total / (time.perf_counter() - begin) / 1e9


def measure(*, quick: bool) -> dict[str, float]:
    """In a process of its own, so that nothing lingers in this one."""
    command = [sys.executable, "-m", "benchmarks.limits", *(["--quick"] if quick else [])]
    return json.loads(subprocess.run(command, capture_output=True, check=True).stdout)


if __name__ == "__main__":
    sizes = SIZES[1:4:2] if "--quick" in sys.argv else SIZES
    print(json.dumps({"gemm_gflops": gemm(sizes), "read_gb_per_s": bandwidth()}))
