"""Where people read: consoles that tell when nobody reads any more."""

from __future__ import annotations

import errno
from typing import NoReturn

from rich.console import Console as Rich


class Console(Rich):
    """Rich's, but for a pipe whose reader is gone: that is an error here like any other."""

    def on_broken_pipe(self) -> NoReturn:
        raise BrokenPipeError(errno.EPIPE, "Broken pipe")
