"""Trial of a server's settings: one connection, what it offers, and the pins of what was shown."""

from collections.abc import Mapping
from pathlib import Path

import anyio

from sophon._python.lazy_dataclass import dataclass
from sophon.errors import InputError
from sophon.invisible_characters import escape_invisible
from sophon.settings import Settings
from sophon_hosting.features.mcp.client.address_resolution import ServerUnusable, resolve_address
from sophon_hosting.features.mcp.client.server_status import ServerStatus
from sophon_hosting.features.mcp.client.supervised_server import START_SECONDS
from sophon_hosting.features.mcp.client.tool_rows import describe_dropped, describe_tool
from sophon_hosting.features.mcp.settings import McpServerSettings


@dataclass(frozen=True, slots=True)
class ServerTrial:
    """What a server offers; `digests` are those of its tools as they are shown, for `AcceptedTools`."""

    status: ServerStatus
    digests: Mapping[str, str]


async def try_server(
    server: McpServerSettings, settings: Settings, environment: Mapping[str, str], folder: Path
) -> ServerTrial:
    """Connect to a server, list its tools and disconnect. Raises InputError with the reason if that fails."""
    try:
        address = await resolve_address(server, settings=settings, environment=environment, folder=folder)
    except ServerUnusable as error:
        raise InputError(f"the MCP server {server.id} cannot be used: {error}") from None
    from sophon_hosting.features.mcp.client.failure_text import describe_end  # lazy: both need the extra
    from sophon_hosting.features.mcp.client.server_connection import connect

    last_words: list[str] = []
    try:
        with anyio.fail_after(START_SECONDS):
            async with connect(address, lambda: None, last_words.append) as connection:
                tools, _ = await connection.list_tools()
                facts, dropped = connection.facts, connection.dropped
    except Exception as error:  # noqa: BLE001 - whatever a server does is one line for who adds it
        raise InputError(
            f"the MCP server {server.id} cannot be used: {describe_end(error, ''.join(last_words))}"
        ) from None
    rows = [describe_tool(server, each, settings.tools.disabled, ()) for each in tools]
    rows += [describe_dropped(name, reason) for name, reason in dropped.items()]
    status = ServerStatus(
        server.id, "ready", "", tuple(rows), protocol=facts.protocol, software=escape_invisible(facts.software)
    )
    return ServerTrial(status, {each.name: each.digest for each in tools})
