"""The host of `sophon serve`: start it, report what runs, and run it until a signal stops it."""

import os
from collections.abc import Sequence

from sophon.services import Services
from sophon_hosting.cli.console.output import write_lines
from sophon_hosting.cli.global_options import GlobalOptions
from sophon_hosting.cli.server_bootstrap import create_store_lease, load_server_settings_with_layers
from sophon_hosting.host_server import HostServer, ListenAddress, bind_address, tune_garbage_collector
from sophon_hosting.leadership.group_status_text import describe_group
from sophon_hosting.programs.server_services import create_server_services
from sophon_hosting.programs.shutdown_signals import run_until_stopped
from sophon_hosting.programs.unknown_prices import list_price_warnings
from sophon_hosting.settings.hub import HubSettings

REAL_MODEL_NOTICE = (
    "The offline model answers; for another one open the page and choose “Set up a model”, run `sophon init`, "
    "set OPENAI_API_KEY or ANTHROPIC_API_KEY, or start Ollama."
)


def run_host(
    options: GlobalOptions,
    host: str | None = None,
    port: int | None = None,
    log: str | None = None,
    *,
    runs_turns: bool = True,
) -> int:
    """Run the command and return its exit code; without `runs_turns` as a hub. Raises SophonError for errors at
    start.
    """
    given = {"Hub.Host": host, "Hub.Port": port}
    pairs = tuple(f"{path}={value}" for path, value in given.items() if value is not None)
    loaded = load_server_settings_with_layers(options, log, pairs)
    settings = loaded.settings
    services, warnings = create_server_services(options, settings)
    site = HostServer(services, os.environ, runs_turns=runs_turns, loaded=loaded)
    with create_store_lease(options, settings, is_shared=site.host.queue.is_shared) as lock:
        address = bind_address(settings.section(HubSettings).host, settings.section(HubSettings).port)

        async def opened() -> None:
            await site.start(address)
            tune_garbage_collector()
            others = [f"  {line}" for line in await describe_group(site.membership)]
            write_lines(host_startup_lines(services, address, [*others, *warnings]))

        with address.socket:
            return run_until_stopped(opened, site.shutdown, site.host, lock)


def host_startup_lines(services: Services, address: ListenAddress, warnings: Sequence[str] = ()) -> list[str]:
    """Return the lines written when the host has started: address, chain, models, store, users, warnings."""
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
    lines += [f"  {line}" for line in list_price_warnings(services)]
    if settings.section(HubSettings).users:
        lines.append(f"  {format_access(len(settings.section(HubSettings).users))}")
    else:
        lines.append("  Everybody on this machine has access; set Hub.Users to give access to others.")
    return [*lines, *warnings, "  Ctrl-C stops it."]


def format_access(count: int) -> str:
    """Return the sentence about who has access."""
    return "1 user has access, with a token." if count == 1 else f"{count} users have access, each with a token."
