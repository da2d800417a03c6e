"""What a command says when it is called with words that it does not take."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click
import typer
from click.exceptions import NoArgsIsHelpError
from typer.core import TyperGroup

from fedadp.guard import ended_by


class Sentences(TyperGroup):
    """Commands that answer a mistaken call with one sentence, as they answer any other mistake."""

    def main(  # as click has it
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,
    ) -> Any:
        if not standalone_mode:
            return super().main(args, prog_name, complete_var, False, windows_expand_args, **extra)
        try:
            found = super().main(args, prog_name, complete_var, False, windows_expand_args, **extra)
        except NoArgsIsHelpError as error:
            error.show()
            raise SystemExit(error.exit_code) from None
        except click.ClickException as error:
            typer.echo(f"fedadp: {_sentence(error)}", err=True)
            raise SystemExit(error.exit_code) from None
        except OSError as error:  # help that nobody reads
            raise SystemExit(ended_by(error)) from None
        except SystemExit as ended:  # the same, as rich has it
            if isinstance(ended.__context__, BrokenPipeError):
                raise SystemExit(ended_by(ended.__context__)) from None
            raise
        raise SystemExit(found if isinstance(found, int) else 0)  # an exit comes back as its code


def _sentence(error: click.ClickException) -> str:
    message = " ".join(error.format_message().split()).rstrip(".")
    context = getattr(error, "ctx", None)
    if context is None:
        return message
    return f"{context.command_path}: {message}; see {context.command_path} --help"
