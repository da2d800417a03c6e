"""Checkpoints now and then, and one more whenever work ends, however it ends."""

from __future__ import annotations

import time
from types import TracebackType

from fedadp.errors import RunError
from fedadp.folder import Folder
from fedadp.loop import Round

SECONDS_BETWEEN_CHECKPOINTS = 10.0


class Keeper:
    """Keeps the latest round in a run folder."""

    def __init__(self, home: Folder, start: Round, pause: float | None = None) -> None:
        self._home = home
        self._pause = SECONDS_BETWEEN_CHECKPOINTS if pause is None else pause
        self._done = self._saved = start
        self._last = time.monotonic()

    def __enter__(self) -> Keeper:
        return self

    def done(self, now: Round) -> None:
        """One more round is finished, and its metrics are written."""
        self._done = now

    def tend(self) -> None:
        """Keep it, if the last time is long ago."""
        if time.monotonic() - self._last >= self._pause:
            self._keep()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        if self._done is self._saved:
            return
        try:
            self._keep()
        except RunError:
            if not isinstance(error, RunError):  # a full disk is told once
                raise

    def _keep(self) -> None:
        self._home.keep(self._done)
        self._saved, self._last = self._done, time.monotonic()
