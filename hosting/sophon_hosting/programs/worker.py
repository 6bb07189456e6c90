"""`sophon worker`: run the worker without web page, API and Socket.IO."""

import os
from collections.abc import Sequence
from contextlib import nullcontext
from typing import Annotated

import typer

from sophon.services import Services
from sophon_hosting.cli.common_options import LogFormatOption
from sophon_hosting.cli.console.output import write_lines
from sophon_hosting.cli.global_options import GlobalOptions
from sophon_hosting.cli.server_bootstrap import create_store_lease, load_server_settings_with_layers
from sophon_hosting.host_server import bind_address, tune_garbage_collector
from sophon_hosting.leadership.group_status_text import describe_group
from sophon_hosting.programs.server_services import create_server_services
from sophon_hosting.programs.shutdown_signals import run_until_stopped
from sophon_hosting.programs.unknown_prices import list_price_warnings
from sophon_hosting.settings.hub import HubSettings
from sophon_hosting.settings.queue import QueueSettings
from sophon_hosting.worker_server import WorkerServer

app = typer.Typer(rich_markup_mode=None, add_completion=False)

HealthPortOption = Annotated[
    int | None,
    typer.Option(metavar="PORT", min=0, max=65535, help="Answer /healthz and /readyz at Hub.Host; by default nowhere."),
]


@app.command()
def worker(ctx: typer.Context, log: LogFormatOption = None, health_port: HealthPortOption = None) -> None:
    """Run tasks without web page, API and Socket.IO. Ctrl-C shuts it down gracefully."""
    raise typer.Exit(run_worker(ctx.obj, log, health_port))


def run_worker(options: GlobalOptions, log: str | None = None, health_port: int | None = None) -> int:
    """Run the command and return its exit code. Raises SophonError for errors at start."""
    loaded = load_server_settings_with_layers(options, log)
    settings = loaded.settings
    services, warnings = create_server_services(options, settings)
    site = WorkerServer(services, os.environ, loaded=loaded)
    with create_store_lease(options, settings, is_shared=site.host.queue.is_shared) as lock:
        address = None if health_port is None else bind_address(settings.section(HubSettings).host, health_port)

        async def opened() -> None:
            await site.start(address)
            tune_garbage_collector()
            health = [] if address is None else [f"  health checks at {address.url}/healthz and /readyz"]
            others = [f"  {line}" for line in await describe_group(site.membership)]
            lines = worker_startup_lines(services, [*health, *others, *warnings], is_shared=site.membership.is_shared)
            write_lines(lines)

        with nullcontext() if address is None else address.socket:
            return run_until_stopped(opened, site.shutdown, site.host, lock)


def worker_startup_lines(services: Services, warnings: Sequence[str] = (), *, is_shared: bool = False) -> list[str]:
    """Return the lines written when the worker has started: store, chain, queue, warnings."""
    settings = services.settings
    tasks = (
        "tasks that any process accepts are run here"
        if is_shared
        else "only tasks in the store are run, new ones are not accepted"
    )
    backend = settings.section(QueueSettings).backend.lower()
    return [
        f"Running the tasks in {settings.store.url}",
        f"  chain {settings.chain.factory or settings.chain.name}, queue {backend}: {tasks}",
        *(f"  {line}" for line in list_price_warnings(services)),
        *warnings,
        "  Ctrl-C stops it.",
    ]
