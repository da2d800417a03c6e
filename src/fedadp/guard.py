"""What a command says when something goes wrong, and its exit code."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import ParamSpec

import typer

from fedadp.errors import FedadpError

P = ParamSpec("P")


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
        except FedadpError as error:
            if shown.traceback:
                raise
            _complain(str(error))
            raise typer.Exit(error.exit_code) from None
        except KeyboardInterrupt:
            _complain(
                "stopped; finished rounds are kept, and without --restart the command goes on there"
            )
            raise typer.Exit(130) from None

    return run


def _complain(sentence: str) -> None:
    typer.echo(f"fedadp: {sentence}", err=True)
