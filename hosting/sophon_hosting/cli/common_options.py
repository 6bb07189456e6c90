"""Arguments and options that several commands share."""

from typing import Annotated

import typer

TaskArgument = Annotated[str, typer.Argument(metavar="TASK", help="The id of a task; `sophon tasks list` shows them.")]
HostUrlOption = Annotated[
    str | None, typer.Option(metavar="URL", help="A running host; the configured one by default.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Write JSON.")]
LogFormatOption = Annotated[
    str | None, typer.Option("--log", metavar="FORMAT", help="Log as json or text; Logging.Format by default.")
]
