"""Arguments, options and the group that several commands share."""

from pathlib import Path
from typing import Annotated, Any

import typer

TaskArgument = Annotated[str, typer.Argument(metavar="TASK", help="The id of a task; `sophon tasks list` shows them.")]
HostUrlOption = Annotated[
    str | None, typer.Option(metavar="URL", help="A running host; the configured one by default.")
]
OutputOption = Annotated[Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write to a new file.")]
IgnoredJsonOption = Annotated[bool, typer.Option("--json", help="Accepted and ignored: the output is always JSON.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Write JSON.")]
LogFormatOption = Annotated[
    str | None, typer.Option("--log", metavar="FORMAT", help="Log as json or text; Logging.Format by default.")
]


def command_group(summary: str, **options: Any) -> typer.Typer:
    """Return a group of commands that has no options of its own; it is a group even with a single command."""
    return typer.Typer(help=summary, callback=_ignore_group, rich_markup_mode=None, add_completion=False, **options)


def _ignore_group() -> None:
    """Do nothing before the command: typer takes a lone command for the group itself if there is no callback."""
