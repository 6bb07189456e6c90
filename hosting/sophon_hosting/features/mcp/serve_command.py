"""`sophon mcp serve`: offer the tools and the agent of a running host to MCP clients."""

import asyncio
import os
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated
from urllib.parse import urlsplit

import typer

from sophon.errors import InputError
from sophon.extras import install_command
from sophon.settings import Settings
from sophon_hosting.cli.bootstrap import load_cli_settings
from sophon_hosting.cli.common_options import HostUrlOption
from sophon_hosting.cli.console.output import write_notice
from sophon_hosting.cli.remote.host_selection import TOKEN_VARIABLE, find_running_host, is_loopback_name
from sophon_hosting.features.mcp.extra import has_extra
from sophon_hosting.settings.hub import HubSettings

if TYPE_CHECKING:
    from sophon_hosting.features.mcp.server.http import HttpAddress

HttpOption = Annotated[
    str | None, typer.Option("--http", metavar="HOST:PORT", help="Serve streamable HTTP here instead of stdio.")
]


def serve(ctx: typer.Context, http: HttpOption = None, url: HostUrlOption = None) -> None:
    """Offer tools, agent and sessions of a running host to MCP clients, over stdio or HTTP.

    Over stdio the token is in SOPHON_TOKEN; over HTTP each client sends its own.
    """
    if not has_extra():
        raise InputError(f"`sophon mcp serve` needs the extra mcp: {install_command('mcp')}")
    settings = load_cli_settings(ctx.obj)
    address = None if http is None else parse_address(http, settings)
    host = find_running_host(ctx.obj, settings, url)
    with suppress(KeyboardInterrupt):
        if address is None:
            # Lazy: mcp takes a second to import, and only this command needs it.
            from sophon_hosting.features.mcp.server.stdio import serve_stdio

            # Not the token of an operator, which other commands take from the settings: the client is a program.
            asyncio.run(serve_stdio(host, os.environ.get(TOKEN_VARIABLE)))
        else:
            from sophon_hosting.features.mcp.server.http import serve_http  # lazy: see above

            asyncio.run(serve_http(host, address, lambda at: write_notice(f"MCP is at {at}")))


def parse_address(text: str, settings: Settings) -> "HttpAddress":
    """Parse HOST:PORT; names and origins that requests may have are those of the settings. Raises InputError."""
    from sophon_hosting.features.mcp.server.http import HttpAddress  # lazy: see above

    wrong = f"--http {text!r} is not HOST:PORT, such as 127.0.0.1:8090"
    try:
        parts = urlsplit(f"//{text}")
        host, port = parts.hostname, parts.port
    except ValueError:
        raise InputError(wrong) from None
    if not host or port is None or parts.path or parts.username is not None:
        raise InputError(wrong)
    hub = settings.section(HubSettings)
    return HttpAddress(host, port, is_loopback_name(host), tuple(hub.allowed_hosts), tuple(hub.allowed_origins))
