"""`sophon serve`: run the host until a signal stops it."""

from typing import Annotated

import typer

from sophon_hosting.cli.common_options import LogFormatOption
from sophon_hosting.programs.serve_host import run_host

app = typer.Typer(rich_markup_mode=None, add_completion=False)

HostOption = Annotated[str | None, typer.Option(metavar="HOST", help="Address to listen on; Hub.Host by default.")]
PortOption = Annotated[
    int | None, typer.Option(metavar="PORT", min=0, max=65535, help="Hub.Port by default; 0: any free.")
]


NoWorkerOption = Annotated[
    bool, typer.Option("--no-worker", help="Run no turns; workers of the same queue do. Needs a shared queue.")
]


@app.command()
def serve(
    ctx: typer.Context,
    host: HostOption = None,
    port: PortOption = None,
    log: LogFormatOption = None,
    no_worker: NoWorkerOption = False,
) -> None:
    """Run the host: web page, API, Socket.IO and worker. Ctrl-C shuts it down gracefully."""
    raise typer.Exit(run_host(ctx.obj, host, port, log, runs_turns=not no_worker))
