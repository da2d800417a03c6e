"""Keeps processes alive: one that ends is started again, and what it left behind is ended first."""

from __future__ import annotations

import logging
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from fedadp.deploy.processes import end, mark

log = logging.getLogger("fedadp")
SETTLED = 20.0  # seconds after which a process counts as well started
PATIENCE = 240.0  # seconds of failed starts: Flower refuses a node that was killed for some 60
PAUSES = (1.0, 2.0, 4.0, 8.0)  # seconds before the first start over, the second, ...
LONGEST_WORDS = 200


@dataclass
class Watched:
    """A process that is meant to run."""

    role: str
    words: Sequence[str]
    child: subprocess.Popen[bytes] | None = None
    started: float = 0.0
    starts: int = 0
    failures: int = 0  # in a row
    trouble: float | None = None  # since when it has not started well
    due: float = 0.0  # when to start it over
    given_up: bool = False


@dataclass
class Supervisor:
    """Processes of one deployment, each in a session of its own and with a log of its own."""

    place: Path
    logs: Path
    environment: Mapping[str, str]
    settled: float = SETTLED
    patience: float = PATIENCE
    pauses: Sequence[float] = PAUSES
    watched: dict[str, Watched] = field(default_factory=dict)

    def start(self, role: str, words: Sequence[str]) -> None:
        self.watched[role] = Watched(role, words)
        self._start(self.watched[role])

    def tend(self) -> None:
        """Look after them once; whoever waits for something calls this again and again."""
        now = time.monotonic()
        for one in self.watched.values():
            if one.child is not None and one.child.poll() is not None:
                self._bury(one, now)
            if one.child is None and not one.given_up and now >= one.due:
                self._start(one)

    def stop(self) -> None:
        """End all of them, and whatever they started."""
        end(self.place)
        for one in self.watched.values():
            if one.child is not None:
                one.child.wait()

    def last_words(self, role: str) -> str:
        """The end of a role's log, on one line."""
        lines = (self.logs / f"{role}.log").read_text(errors="replace").splitlines()[-20:]
        words = " ".join(" ".join(lines).split())
        begin = words.rfind("Exit Code:")  # Flower says why it ended after these words
        words = words[begin:] if begin >= 0 else words[-LONGEST_WORDS:]
        return words[:LONGEST_WORDS] or "it said nothing"

    def _start(self, one: Watched) -> None:
        one.starts += 1
        one.started = time.monotonic()
        with (self.logs / f"{one.role}.log").open("ab") as out:
            one.child = subprocess.Popen(
                one.words,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                env={**self.environment, **mark(self.place, one.role)},
                start_new_session=True,  # a Ctrl-C at the terminal is for us alone
            )

    def _bury(self, one: Watched, now: float) -> None:
        code = one.child.wait() if one.child is not None else 0
        one.child = None
        end(self.place, one.role, patience=0)
        if now - one.started > self.settled:  # trouble begins now, however long it ran well
            one.trouble, one.failures = now, 0
        elif one.trouble is None:
            one.trouble = one.started
        how = f"was killed by signal {-code}" if code < 0 else f"ended with {code}"
        if now - one.trouble > self.patience:
            one.given_up = True
            log.error(
                "%s %s, and will not be started again; %s", one.role, how, self.last_words(one.role)
            )
            return
        pause = self.pauses[min(one.failures, len(self.pauses) - 1)]
        one.failures += 1
        one.due = now + pause
        log.warning("%s %s; starts again in %g s", one.role, how, pause)
