"""Confirmation of commands that cannot be undone: a question on the terminal, or `--yes`."""

from typing import Annotated

import typer

from sophon.errors import InputError
from sophon_hosting.cli.console.stdin_reader import StdinReader

YesOption = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")]


def confirm(question: str, *, yes: bool, otherwise: str) -> None:
    """Ask a question, unless `yes`. Raises InputError, which begins with `otherwise`, for any answer but yes."""
    answer = "yes" if yes else StdinReader().read_line(f"{question} (yes/no) ")
    if (answer or "").strip().casefold() not in {"y", "yes"}:
        raise InputError(f"{otherwise}; answer yes, or use --yes")
