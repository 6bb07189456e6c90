"""`sophon worker`: the worker without the doors."""

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
    """Carry out tasks without page, API and Socket.IO. Ctrl-C stops it in good order."""
    raise typer.Exit(start(ctx.obj, log))


def start(program: GlobalOptions, log: str | None = None) -> int:
    """The whole command; its exit code. Raises SophonError for what is wrong before anything runs."""
    settings = running_settings(program, log)
    services = services_of(program, settings)
    # What ends here leaves as the channels send it; they themselves run with `serve`.
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
    """What a person needs to know of a worker that has just started."""
    settings = services.settings
    return [
        f"Working off the tasks of {settings.store.url}",
        f"  chain {settings.chain.factory or settings.chain.name}, queue {settings.queue.backend.lower()}: "
        "what the store holds is done, and nothing new comes in",
        "  Ctrl-C stops it.",
    ]
