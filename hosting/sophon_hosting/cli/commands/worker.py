"""`sophon worker`: run the worker without web page, API, Socket.IO and channels."""

import os
from collections.abc import Sequence

import typer

from sophon.services import Services
from sophon.settings import has_several_users
from sophon_hosting.chain_factory import build_pipelines
from sophon_hosting.channels.factory import create_channels
from sophon_hosting.channels.lifecycle import ChannelSupervisor
from sophon_hosting.cli.bootstrap import create_services
from sophon_hosting.cli.common_options import LogFormatOption
from sophon_hosting.cli.console.output import write_lines
from sophon_hosting.cli.global_options import GlobalOptions
from sophon_hosting.cli.process_hardening import protect_process
from sophon_hosting.cli.server_settings import create_store_lease, load_server_settings
from sophon_hosting.cli.settings_warnings import report_startup_warnings
from sophon_hosting.cli.shutdown_signals import run_until_stopped
from sophon_hosting.client_api.authentication import find_operators
from sophon_hosting.host import Host
from sophon_hosting.host_server import tune_garbage_collector
from sophon_hosting.mcp_servers import create_mcp_supervisor
from sophon_hosting.post_turn.runner import PostTurnRunner
from sophon_hosting.process_memory.allocator import configure_allocator
from sophon_hosting.process_memory.trimmer import create_memory_trimmer
from sophon_hosting.queue.factory import build_queue
from sophon_hosting.rendering.unknown_prices import list_price_warnings
from sophon_hosting.schedules.factory import (
    build_scheduled_outbound,
    create_heartbeat,
    create_scheduler,
    register_schedule_tools,
)

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command()
def worker(ctx: typer.Context, log: LogFormatOption = None) -> None:
    """Run tasks without web page, API and Socket.IO. Ctrl-C shuts it down gracefully."""
    raise typer.Exit(run_worker(ctx.obj, log))


def run_worker(options: GlobalOptions, log: str | None = None) -> int:
    """Run the command and return its exit code. Raises SophonError for errors at start."""
    settings = load_server_settings(options, log)
    configure_allocator(os.environ)
    services = create_services(options, settings)
    warnings = report_startup_warnings(settings, options, os.environ)
    warnings += [f"  {warning}" for warning in protect_process(services)]
    # The channels build the outbound entries of runs that end here; only `serve` connects them to their platforms.
    channels = ChannelSupervisor(services, create_channels(services, os.environ))
    register_schedule_tools(services)
    is_shared = has_several_users(settings) or bool(channels.channels)
    host = Host(
        services,
        build_pipelines(services),
        queue=build_queue(services, is_shared=is_shared),
        approvers=find_operators(settings.hub) | channels.approvers,
        several_users=is_shared,
        build_outbound=build_scheduled_outbound(services, channels.replies),
        prepare=channels.prepare_run,
    )
    afterwards = PostTurnRunner(services, host.event_bus)
    host.mcp = mcp = create_mcp_supervisor(services, os.environ)
    scheduler = create_scheduler(host, channels.configured)
    heartbeat = create_heartbeat(host)
    trimmer = create_memory_trimmer(lambda: host.running_turns > 0, services.clock)

    async def opened() -> None:
        await services.store.maintenance.verify()
        await services.open()
        await host.start()
        afterwards.start()
        if mcp is not None:
            mcp.start()
        if scheduler is not None:
            scheduler.start()
        if heartbeat is not None:
            heartbeat.start()
        tune_garbage_collector()
        trimmer.start()
        write_lines(worker_startup_lines(services, warnings))

    async def close(grace_seconds: float) -> None:
        await trimmer.stop()
        if scheduler is not None:
            await scheduler.stop()
        if heartbeat is not None:
            await heartbeat.stop()
        try:
            await host.shutdown(grace_seconds=grace_seconds)
            if mcp is not None:
                await mcp.stop()
            await afterwards.stop()
        finally:
            await services.close()

    with create_store_lease(options, settings) as lock:
        return run_until_stopped(opened, close, host, lock)


def worker_startup_lines(services: Services, warnings: Sequence[str] = ()) -> list[str]:
    """Return the lines written when the worker has started: store, chain, queue, warnings."""
    settings = services.settings
    return [
        f"Running the tasks in {settings.store.url}",
        f"  chain {settings.chain.factory or settings.chain.name}, queue {settings.queue.backend.lower()}: "
        "only tasks in the store are run, new ones are not accepted",
        *(f"  {line}" for line in list_price_warnings(services)),
        *warnings,
        "  Ctrl-C stops it.",
    ]
