"""`sophon worker`: run the worker without web page, API, Socket.IO and channels."""

import os

import typer

from sophon.services import Services
from sophon_hosting.afterwards.afterwards import Afterwards
from sophon_hosting.channels.configured import channels_of
from sophon_hosting.channels.switchboard import Switchboard
from sophon_hosting.cli.arguments import GlobalOptions
from sophon_hosting.cli.processes import LogForm, run_until_stopped, running_settings, store_lock_of
from sophon_hosting.cli.screen import write_lines
from sophon_hosting.cli.start import services_of
from sophon_hosting.composition import chain_of
from sophon_hosting.host import Host
from sophon_hosting.queue.configured import queue_of
from sophon_hosting.site import settle_memory

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command()
def worker(ctx: typer.Context, log: LogForm = None) -> None:
    """Run tasks without web page, API and Socket.IO. Ctrl-C shuts it down gracefully."""
    raise typer.Exit(start(ctx.obj, log))


def start(program: GlobalOptions, log: str | None = None) -> int:
    """Run the command and return its exit code. Raises SophonError for errors at start."""
    settings = running_settings(program, log)
    services = services_of(program, settings)
    # The channels build the outbound entries of runs that end here; only `serve` connects them to their platforms.
    channels = Switchboard(services, channels_of(services, os.environ))
    host = Host(
        services,
        chain_of(services),
        queue=queue_of(services),
        approvers=channels.approvers,
        leaving=channels.answers,
        prepare=channels.prepare,
    )
    afterwards = Afterwards(services, host.feed)

    async def opened() -> None:
        await services.open()
        await host.start()
        afterwards.start()
        settle_memory()
        write_lines(greeting(services))

    async def close(grace_seconds: float) -> None:
        try:
            await host.stop(grace_seconds=grace_seconds)
            await afterwards.stop()
        finally:
            await services.close()

    with store_lock_of(program, settings) as lock:
        return run_until_stopped(opened, close, host, lock)


def greeting(services: Services) -> list[str]:
    """Return the lines written when the worker has started: store, chain, queue."""
    settings = services.settings
    return [
        f"Running the tasks in {settings.store.url}",
        f"  chain {settings.chain.factory or settings.chain.name}, queue {settings.queue.backend.lower()}: "
        "only tasks in the store are run, new ones are not accepted",
        "  Ctrl-C stops it.",
    ]
