"""Which processes are ours: each inherits a mark in its environment, so no orphan is ever lost."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

from fedadp.errors import RunError

DEPLOYMENT, ROLE = "FEDADP_DEPLOYMENT", "FEDADP_ROLE"
PROC = Path("/proc")
PAUSE = 0.1


def mark(place: Path, role: str) -> dict[str, str]:
    """What a process of this deployment has in its environment, and hands on to its children."""
    return {DEPLOYMENT: str(place), ROLE: role}


def marked(place: Path, role: str | None = None) -> Iterator[int]:
    """The processes of a deployment, or of one role in it; whoever their parent is by now."""
    for entry in PROC.iterdir():
        if entry.name.isdigit() and _bears(int(entry.name), place, role):
            yield int(entry.name)


def end(place: Path, role: str | None = None, patience: float = 5.0) -> int:
    """End them all, at first politely; how many there were."""
    begin, asked = time.monotonic(), set[int]()
    while there := set(marked(place, role)):
        waited = time.monotonic() - begin
        if waited > patience + 30:
            raise RunError(f"{place}: processes {sorted(there)} do not end; end them by hand")
        late = waited > patience
        for pid in there if late else there - asked:
            _send(pid, signal.SIGKILL if late else signal.SIGTERM, place, role)
        asked |= there
        time.sleep(PAUSE)
    return len(asked)


def born(pid: int) -> str | None:
    """When a process began, in ticks since the machine did: with its number, its identity."""
    try:
        fields = (PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] == "Z" else fields[19]


def _bears(pid: int, place: Path, role: str | None) -> bool:
    wanted = {f"{DEPLOYMENT}={place}".encode()}
    if role is not None:
        wanted.add(f"{ROLE}={role}".encode())
    try:
        return wanted <= set((PROC / str(pid) / "environ").read_bytes().split(b"\0"))
    except OSError:  # gone, or somebody else's
        return False


def _send(pid: int, number: int, place: Path, role: str | None) -> None:
    """Signal a process unless its number has become another's meanwhile."""
    try:
        handle = os.pidfd_open(pid)
    except OSError:
        return
    try:
        if _bears(pid, place, role):
            signal.pidfd_send_signal(handle, number)
    except ProcessLookupError:
        pass
    finally:
        os.close(handle)
