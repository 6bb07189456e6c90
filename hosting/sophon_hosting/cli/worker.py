"""`sophon worker`: the worker without the doors."""

import typer

from sophon_hosting.cli.arguments import GlobalOptions
from sophon_hosting.cli.processes import run_until_stopped, store_lock_of
from sophon_hosting.cli.screen import write_lines
from sophon_hosting.cli.start import services_of, settings_of
from sophon_hosting.composition import chain_of
from sophon_hosting.host import GRACE_SECONDS, Host
from sophon_hosting.observing.logs import set_up_host_logs
from sophon_hosting.site import settle_memory

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command()
def worker(ctx: typer.Context) -> None:
    """Carry out tasks without page, API and Socket.IO. Ctrl-C stops it in good order."""
    raise typer.Exit(start(ctx.obj))


def start(program: GlobalOptions) -> int:
    """The whole command; its exit code. Raises SophonError for what is wrong before anything runs."""
    settings = settings_of(program)
    if not program.debug:
        set_up_host_logs(settings.logging.level, settings.logging.format)
    services = services_of(program, settings)
    host = Host(services, chain_of(services))

    async def opened() -> None:
        await services.open()
        await host.start()
        settle_memory()
        write_lines(
            [
                f"Working off the tasks of {services.settings.store.url}, {settings.queue.backend} queue.",
                "  Ctrl-C stops it.",
            ]
        )

    async def close(grace_seconds: float = GRACE_SECONDS) -> None:
        try:
            await host.stop(grace_seconds=grace_seconds)
        finally:
            await services.close()

    with store_lock_of(program, settings):
        return run_until_stopped(opened, close, host)
