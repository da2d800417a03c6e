"""Signals that end a command: at once, or by an exception where there is something to keep.

A library leaves signals alone: only commands ask for `install`. They do so before all else, and
so this imports next to nothing.
"""

from __future__ import annotations

import os
import signal
from contextlib import contextmanager

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

SIGNALS = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)
caught: list[int] = []  # since the command began
_keeping: list[bool] = []  # one for each `keeping` that we are in


class Stopped(KeyboardInterrupt):
    """A signal asked us to stop."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def exit_code(number: int) -> int:
    """As a shell has it."""
    return 128 + number


def sentence(number: int) -> str:
    why = "" if number == signal.SIGINT else f" by {signal.Signals(number).name}"
    return (
        f"stopped{why}; finished rounds are kept, and without --restart the command goes on there"
    )


def install() -> None:
    """From here signals end this command; one that was to be ignored still is, as under nohup."""
    for number in SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _stop)


@contextmanager
def keeping() -> Iterator[None]:
    """Inside, a signal raises `Stopped`; elsewhere it ends the process there and then.

    For an exception may come in the middle of an import, which not every library survives.
    """
    _keeping.append(True)
    try:
        yield
    finally:
        _keeping.pop()


def check() -> None:
    """Raise again what a library may have swallowed."""
    if caught:
        raise Stopped(caught[0])


def _stop(number: int, _: FrameType | None) -> None:
    if not _keeping:
        os.write(2, f"fedadp: {sentence(number)}\n".encode())
        os._exit(exit_code(number))
    caught.append(number)
    raise Stopped(number)
