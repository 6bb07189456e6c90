"""`/api/mcp`: the MCP servers whose tools the host offers, acceptance of tools, and restarts; for operators only."""

import logging
from typing import TYPE_CHECKING

from aiohttp import web

from sophon.errors import NotFound
from sophon_hosting.features.mcp.results import McpServerList, mcp_server_to_json
from sophon_hosting.http.json_io import RequestBody, get_operator, json_response, parse_body

if TYPE_CHECKING:
    from sophon.mcp.supervisor import McpSupervisor

log = logging.getLogger("sophon")


class AcceptBody(RequestBody):
    """Body of an acceptance: the name of each tool with the digest of the definition that was looked at."""

    tools: dict[str, str]


routes = web.RouteTableDef()


@routes.get("/api/mcp")
async def list_mcp_servers(request: web.Request) -> web.Response:
    """List the servers in the order of the settings, each with state, last error and tools."""
    servers = get_operator(request).host.mcp
    listed: McpServerList = {
        "items": [] if servers is None else [mcp_server_to_json(each) for each in servers.list_status()]
    }
    return json_response(listed)


@routes.post("/api/mcp/{server_id}/accept")
async def accept_mcp_tools(request: web.Request) -> web.Response:
    """Accept the definitions of tools, and offer them. Raises NotFound; InputError for one that has changed again."""
    body = await parse_body(request, AcceptBody)
    servers, server = _find_servers(request, "%s accepts tools of the MCP server %s")
    return json_response({"ok": True, **mcp_server_to_json(await servers.accept(server, body.tools))})


@routes.post("/api/mcp/{server_id}/restart")
async def restart_mcp_server(request: web.Request) -> web.Response:
    """Connect to a server again, with a new crash budget. Raises NotFound; InputError for one that is disabled."""
    servers, server = _find_servers(request, "%s restarts the MCP server %s")
    return json_response({"ok": True, **mcp_server_to_json(await servers.restart(server))})


def _find_servers(request: web.Request, act: str) -> "tuple[McpSupervisor, str]":
    """Return the servers, and the id of the one that an operator acts on, which is logged. Raises NotFound."""
    operator, server = get_operator(request), request.match_info["server_id"]
    if operator.host.mcp is None:
        raise NotFound("MCP server", server)
    log.info(act, operator.user.id, server)
    return operator.host.mcp, server
