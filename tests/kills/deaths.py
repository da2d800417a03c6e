"""How a process dies: at the n-th step of what it writes, or a power cut there.

Installed in a child that was forked for it; what it writes goes to a real disk.
"""

import io
import os
import random
import signal
from pathlib import Path


class Steps:
    """Counts what is written, renamed, synced and removed; dies when its count is reached."""

    def __init__(self, folder, at=None, power_cut=False, seed=0):
        self.count, self._at, self._power_cut = 0, at, power_cut
        self._folder = folder.resolve()  # what is written elsewhere does not count
        self._draw = random.Random(seed)
        self._synced = {}  # bytes of each open file that a power cut leaves
        self._open = io.open

    def step(self):
        self.count += 1
        if self.count == self._at:
            self.die()

    def die(self):
        if self._power_cut:
            for path, size in self._synced.items():
                if path.exists():
                    os.truncate(path, self._draw.randint(size, max(size, path.stat().st_size)))
        os.kill(os.getpid(), signal.SIGKILL)

    def install(self):
        for name in ("fsync", "replace", "unlink"):
            setattr(os, name, self._around(getattr(os, name)))
        io.open = self.open

    def _around(self, call):
        def stepped(what, *others, **more):
            path = (Path(f"/proc/self/fd/{what}") if isinstance(what, int) else what).resolve()
            if self._folder not in [path, *path.parents]:
                return call(what, *others, **more)
            self.step()
            found = call(what, *others, **more)
            self._synced.pop(path, None)
            self.step()
            return found

        return stepped

    def open(self, file, mode="r", *others, **more):
        path = Path(file).resolve() if isinstance(file, str | Path) else Path()
        if self._folder not in path.parents or mode not in ("wb", "ab"):
            return self._open(file, mode, *others, **more)
        self._synced.setdefault(path, path.stat().st_size if path.exists() else 0)
        return Halfway(self._open(file, mode, *others, **more), self)


class Halfway:
    """A file that lets a process die halfway through a write."""

    def __init__(self, file, steps):
        self._file, self._steps = file, steps

    def write(self, content):
        self._steps.step()
        self._file.write(content[: len(content) // 2])
        self._file.flush()
        self._steps.step()
        self._file.write(content[len(content) // 2 :])
        self._file.flush()
        self._steps.step()
        return len(content)

    def __getattr__(self, name):
        return getattr(self._file, name)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._file.close()
