"""What is done to the processes of a deployment, and when."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from fedadp.deploy.place import Place
from fedadp.deploy.processes import marked

SECONDS_FROZEN = 25.0


@dataclass
class Deeds:
    """Each is done once, after so many rounds; what was done is noted."""

    place: Place
    say: Callable[[str], None]
    done: list[str] = field(default_factory=list)
    _thaw: float = 0.0

    def after(self, rounds: int) -> None:
        for due, name, deed in (
            (1, "SuperNode 1 killed", lambda: self._kill("node-1", "flower-supernode")),
            (3, "SuperNode 3 frozen", lambda: self._signal("node-3", signal.SIGSTOP)),
            (4, "SuperLink killed", lambda: self._kill("superlink", "flower-superlink")),
            (6, "ServerApp killed", lambda: self._kill("executor", "flwr-serverapp")),
        ):
            if rounds >= due and name not in self.done and deed():
                self._note(name)
                if name == "SuperNode 3 frozen":
                    self._thaw = time.monotonic() + SECONDS_FROZEN
        if self._thaw and time.monotonic() > self._thaw:
            self._thaw = 0.0
            self._signal("node-3", signal.SIGCONT)
            self._note("SuperNode 3 goes on")

    def _note(self, name: str) -> None:
        self.done.append(name)
        self.say(f"layer B: {name}")

    def _kill(self, role: str, program: str) -> bool:
        """With -9, and only this program of the role; false where it is not there."""
        there = [pid for pid in marked(self.place.path, role) if program in _words(pid)]
        for pid in there:
            os.kill(pid, signal.SIGKILL)
        return bool(there)

    def _signal(self, role: str, number: signal.Signals) -> bool:
        there = list(marked(self.place.path, role))
        for pid in there:
            os.kill(pid, number)
        return bool(there)


def _words(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace")
    except OSError:
        return ""
