"""A folder that one process at a time writes to, and that says whose it is."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from fedadp.errors import RunError

LOCK = ".lock"


class Lock:
    """Holds a folder; the kernel lets go of it when its process dies, however it dies."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._path = folder, folder / LOCK
        self._file = 0

    @contextmanager
    def held(self) -> Iterator[None]:
        lock = FileLock(self._path)
        try:
            lock.acquire(blocking=False)
        except Timeout:
            raise RunError(
                f"{self._folder}: {self._owner()} is at work here; wait for it, or give another "
                "folder"
            ) from None
        except NotImplementedError:
            raise RunError(
                f"{self._folder}: its file system knows no locks, so another process could write "
                "here, too; give a folder on another"
            ) from None
        try:
            self._path.write_text(f"{os.getpid()}\n")
            self._file = self._path.stat().st_ino
            yield
        finally:
            lock.release()

    def check(self) -> None:
        """Complain if the folder is no longer the one that we hold."""
        try:
            ours = self._path.stat().st_ino == self._file
        except OSError:
            ours = False
        if not ours:
            raise RunError(
                f"{self._folder}: was taken away while a run was written to it; bring it back, or "
                "start again"
            )

    def _owner(self) -> str:
        try:
            return f"process {int(self._path.read_text())}"
        except (OSError, ValueError):
            return "another process"
