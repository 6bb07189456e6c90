"""Operations on MCP servers whose tools the host offers: list, accept tools, restart; for operators only."""

import logging
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Annotated, Final

from sophon.errors import NotFound
from sophon.tools.registry import Toolbox, ToolRegistry
from sophon_hosting.client_api.caller import Caller
from sophon_hosting.features.mcp.feature import MCP_SERVERS
from sophon_hosting.features.mcp.results import McpServerList, McpServerView, mcp_server_to_json
from sophon_hosting.features.mcp.settings import McpSettings
from sophon_hosting.operations.request import Doc, NoFields, Request
from sophon_hosting.operations.table import Table

if TYPE_CHECKING:
    from sophon_hosting.features.mcp.client.supervisor import McpSupervisor

log = logging.getLogger("sophon")

table = Table("mcp")

CONNECT_SECONDS: Final = 15.0
"""Time of servers that are started for one operation to connect."""


@asynccontextmanager
async def open_servers(caller: Caller) -> "AsyncGenerator[McpSupervisor | None]":
    """Yield the servers of the host, or on an open store those of the settings, which end with the block.

    None if there are none.
    """
    if caller.is_signed_in:
        yield caller.host.feature_services.find(MCP_SERVERS)
        return
    if not caller.settings.section(McpSettings).servers:
        yield None
        return
    from sophon_hosting.features.mcp.client.supervisor import (
        McpSupervisor,  # lazy: a host without servers loads nothing of MCP
    )

    servers = McpSupervisor(
        caller.settings,
        toolbox=Toolbox(ToolRegistry([])),
        states=caller.store.channel_state,
        clock=caller.clock,
        environment=os.environ,
        folder=caller.folder,
    )
    servers.start()
    try:
        await servers.wait_settled(CONNECT_SECONDS)
        yield servers
    finally:
        await servers.stop()


class NamedServer(Request):
    """An MCP server by its `Id` in the settings."""

    server_id: Annotated[str, Doc("The Id of an MCP server.")]


class AcceptedTools(NamedServer):
    """The name of each tool with the digest of the definition that was looked at."""

    tools: dict[str, str]


@table.operation("GET /api/mcp", needs="Operator")
async def list_mcp_servers(caller: Caller, request: NoFields) -> McpServerList:
    """List the servers in the order of the settings, each with state, last error and tools.

    A tool has the `reason` why it is unusable, and the `parameters` if it waits for acceptance.
    """
    async with open_servers(caller) as servers:
        return {"items": [] if servers is None else [mcp_server_to_json(each) for each in servers.list_status()]}


@table.operation(
    "POST /api/mcp/{server_id}/accept",
    needs="Operator",
    ok=True,
    errors=(NotFound,),
    example={"tools": {"search": "9f86d081884c7d65"}},
)
async def accept_mcp_tools(caller: Caller, request: AcceptedTools) -> McpServerView:
    """Accept changed definitions of tools as they were listed: all or none, and none if one has changed again."""
    server = request.server_id
    async with open_servers(caller) as servers:
        if servers is None:
            raise NotFound("MCP server", server)
        log.info("%s accepts tools of the MCP server %s", caller.user.id, server)
        return mcp_server_to_json(await servers.accept(server, request.tools))


@table.operation("POST /api/mcp/{server_id}/restart", needs="Operator", ok=True, errors=(NotFound,))
async def restart_mcp_server(caller: Caller, request: NamedServer) -> McpServerView:
    """Connect to a server again, also to one that has failed too often, unless it is disabled.

    The answer comes after the first attempt.
    """
    servers, server = caller.host.feature_services.find(MCP_SERVERS), request.server_id
    if servers is None:
        raise NotFound("MCP server", server)
    log.info("%s restarts the MCP server %s", caller.user.id, server)
    return mcp_server_to_json(await servers.restart(server))
