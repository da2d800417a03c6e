"""What a run says while it runs, line by line, as the SuperLink hands it on."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

from fedadp.deploy.control import CONNECTION, Control, program
from fedadp.deploy.processes import mark

COLOUR = re.compile(r"\x1b\[[0-9;]*m")
NOISE = re.compile(
    r"Using SuperLink|Successfully installed|"
    r"(INFO|WARNING)\s*:\s*($|Start|Initiating|\[flwr|Exiting|Successfully)"
)


class Follower:
    """`flwr log`, started again if it ends too early; nothing is said twice."""

    def __init__(
        self, control: Control, place: Path, file: Path, run: int, say: Callable[[str], None]
    ) -> None:
        self._control, self._place, self._file = control, place, file
        self._words = [program("flwr"), "log", str(run), CONNECTION, "--stream"]
        self._say = say
        self._said = 0
        self._start()

    @property
    def over(self) -> bool:
        """Whether the stream has ended; if the run has not, it must be started again."""
        return self._child.poll() is not None

    def again(self) -> None:
        self._start()

    def catch_up(self) -> None:
        """Say what is new."""
        lines = self._file.read_text(errors="replace").split("\n")
        for line in lines[self._said : -1]:
            plain = COLOUR.sub("", line).rstrip()
            if plain and not NOISE.match(plain):
                self._say(plain)
        self._said = max(self._said, len(lines) - 1)

    def _start(self) -> None:
        with self._file.open("wb") as out:
            self._child = subprocess.Popen(
                self._words,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.DEVNULL,
                env={**self._control.environment, **mark(self._place, "log")},
                start_new_session=True,
            )
