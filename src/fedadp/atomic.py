"""Files that are written whole or not at all, and are there after a power cut."""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from pathlib import Path

UNFINISHED = ".*.new"  # what a process that was killed leaves behind


def write_atomically(path: Path, content: bytes) -> None:
    """Under another name, synced, then renamed: a reader sees the old file or the new one."""
    write_aside(path, content).replace(path)
    sync_folder(path.parent)


def write_aside(path: Path, content: bytes) -> Path:
    """Beside the path, under another name and synced: a rename is all that is left to do."""
    new = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        with new.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
    except BaseException:  # such as a full disk: leave what room there is
        with suppress(OSError):
            new.unlink(missing_ok=True)
        raise
    return new


def sync_folder(path: Path) -> None:
    """A rename is on disk only once its folder is."""
    folder = os.open(path, os.O_RDONLY)
    try:
        os.fsync(folder)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # some network drives know no such
            raise
    finally:
        os.close(folder)
