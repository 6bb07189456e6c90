"""`sophon serve`: run the host until a signal stops it."""

import os
from typing import Annotated

import typer

from sophon.services import Services
from sophon_hosting.cli.bootstrap import create_services
from sophon_hosting.cli.common_options import LogFormatOption
from sophon_hosting.cli.console.output import write_lines
from sophon_hosting.cli.global_options import GlobalOptions
from sophon_hosting.cli.server_settings import create_store_lease, load_server_settings
from sophon_hosting.cli.shutdown_signals import run_until_stopped
from sophon_hosting.host_server import HostServer, ListenAddress, bind_address, tune_garbage_collector

app = typer.Typer(rich_markup_mode=None, add_completion=False)

REAL_MODEL_NOTICE = (
    "The offline model answers; for another one set OPENAI_API_KEY or ANTHROPIC_API_KEY, or start Ollama."
)

HostOption = Annotated[str | None, typer.Option(metavar="HOST", help="Address to listen on; Hub.Host by default.")]
PortOption = Annotated[
    int | None, typer.Option(metavar="PORT", min=0, max=65535, help="Hub.Port by default; 0: any free.")
]


@app.command()
def serve(ctx: typer.Context, host: HostOption = None, port: PortOption = None, log: LogFormatOption = None) -> None:
    """Run the host: web page, API, Socket.IO and worker. Ctrl-C shuts it down gracefully."""
    raise typer.Exit(run_host(ctx.obj, host, port, log))


def run_host(options: GlobalOptions, host: str | None = None, port: int | None = None, log: str | None = None) -> int:
    """Run the command and return its exit code. Raises SophonError for errors at start."""
    given = {"Hub.Host": host, "Hub.Port": port}
    pairs = tuple(f"{path}={value}" for path, value in given.items() if value is not None)
    settings = load_server_settings(options, log, pairs)
    services = create_services(options, settings)
    site = HostServer(services, os.environ)
    with create_store_lease(options, settings) as lock:
        address = bind_address(settings.hub.host, settings.hub.port)

        async def opened() -> None:
            await site.start(address)
            tune_garbage_collector()
            write_lines(host_startup_lines(services, address))

        with address.socket:
            return run_until_stopped(opened, site.shutdown, site.host, lock)


def host_startup_lines(services: Services, address: ListenAddress) -> list[str]:
    """Return the lines written when the host has started: address, chain, models, store, users."""
    settings = services.settings
    candidates = [each.info.id for each in services.gateway.candidates()]
    lines = [
        f"Sophon is at {address.url}",
        f"  chain {settings.chain.factory or settings.chain.name}, models {', '.join(candidates) or 'none'}, "
        f"store {settings.store.url}",
        f"  to chat with it: sophon chat --url {address.url}",
    ]
    if any(provider.id == "offline" for provider in services.gateway.providers):
        lines.append(f"  {REAL_MODEL_NOTICE}")
    if settings.hub.users:
        lines.append(f"  {len(settings.hub.users)} users have access, each with a token.")
    else:
        lines.append("  Everybody on this machine has access; set Hub.Users to give access to others.")
    return [*lines, "  Ctrl-C stops it."]
