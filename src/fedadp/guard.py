"""What a command says when something goes wrong, and its exit code.

0    all is done
1    a mistake of fedadp's own; `--debug` shows where
2    something that you can mend: an experiment, a command line, data, a model, a strategy, a folder
3    too few nodes replied, for too many rounds in a row
4    the numbers left what a float can hold; or a deployment whose run was not completed
129  SIGHUP, as when a terminal is closed (128 and the signal's number, as a shell has it)
130  SIGINT, as Ctrl-C
141  nobody reads the output any more
143  SIGTERM

Whatever the code, finished rounds are kept.
"""

from __future__ import annotations

import errno
import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import wraps
from typing import ParamSpec

import click
import typer

from fedadp import stopping
from fedadp.errors import FedadpError, own_mistake

P = ParamSpec("P")
GONE = {errno.EPIPE: 141, errno.EIO: stopping.exit_code(signal.SIGHUP)}


@dataclass
class Shown:
    """How an error is shown."""

    traceback: bool = False


shown = Shown()


def guarded(command: Callable[P, None]) -> Callable[P, None]:
    """One sentence instead of a traceback, and an exit code that says what happened."""

    @wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        sys.path.insert(0, "")  # `module:attribute` means the user's own modules too
        try:
            command(*args, **kwargs)
            sys.stdout and sys.stdout.flush()
        except (typer.Exit, typer.Abort, click.ClickException):
            raise
        except (KeyboardInterrupt, Exception) as error:
            if shown.traceback:
                raise
            raise typer.Exit(ended_by(error)) from None
        finally:
            _let_go()

    return run


def ended_by(error: BaseException) -> int:
    """Say what ended a command; its exit code comes back."""
    sentence, code = _told(error)
    with suppress(OSError):  # there may be nobody left to hear it
        typer.echo(f"fedadp: {sentence}", err=True)
    _let_go()
    return code


def _told(error: BaseException) -> tuple[str, int]:
    """What is said of an error, and the exit code that goes with it."""
    if stopping.caught or isinstance(error, KeyboardInterrupt):  # perhaps under another name
        number = stopping.caught[0] if stopping.caught else signal.SIGINT
        return stopping.sentence(number), stopping.exit_code(number)
    if isinstance(error, FedadpError):
        return str(error), error.exit_code
    if isinstance(error, OSError) and error.filename is None and error.errno is not None:
        return (
            f"the output cannot be written ({error.strerror}); what was finished is kept",
            GONE.get(error.errno, FedadpError.exit_code),
        )
    return own_mistake(error), 1


def _let_go() -> None:
    """What cannot be written any more must not be tried again at the very end."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream and stream.flush()
        except OSError:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, stream.fileno())
            os.close(nowhere)
