"""The machine by its kind: nothing that tells which one it is."""

from __future__ import annotations

import os
import platform
from pathlib import Path


def kind() -> dict[str, str | int]:
    """The processor's model, cores and memory, and the system's kind."""
    return {
        "cpu": _line("/proc/cpuinfo", "model name") or platform.machine(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30),
        "system": platform.system(),
    }


def load() -> float:
    """How many processes wanted a core in the last minute: how quiet it was."""
    return os.getloadavg()[0]


def _line(path: str, name: str) -> str:
    file = Path(path)
    lines = file.read_text().splitlines() if file.exists() else []
    return next((line.partition(":")[2].strip() for line in lines if line.startswith(name)), "")
