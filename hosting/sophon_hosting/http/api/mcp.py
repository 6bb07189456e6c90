"""`/api/mcp`: the MCP servers whose tools the host offers, acceptance of tools, and restarts; for operators only."""

from aiohttp import web

from sophon_hosting.http.json_io import RequestBody, get_authorized_host, json_response, parse_body


class AcceptBody(RequestBody):
    """Body of an acceptance: the name of each tool with the digest of the definition that was looked at."""

    tools: dict[str, str]


def mcp_routes() -> list[web.RouteDef]:
    """Return the routes of this module; all require an operator."""
    return [
        web.get("/api/mcp", list_mcp_servers),
        web.post("/api/mcp/{server_id}/accept", accept_mcp_tools),
        web.post("/api/mcp/{server_id}/restart", restart_mcp_server),
    ]


async def list_mcp_servers(request: web.Request) -> web.Response:
    """List the servers in the order of the settings, each with state, last error and tools."""
    return json_response({"items": [each.to_json() for each in get_authorized_host(request).mcp.list()]})


async def accept_mcp_tools(request: web.Request) -> web.Response:
    """Accept the definitions of tools, and offer them. Raises NotFound; InputError for one that has changed again."""
    body = await parse_body(request, AcceptBody)
    server = await get_authorized_host(request).mcp.accept_tools(request.match_info["server_id"], body.tools)
    return json_response({"ok": True, **server.to_json()})


async def restart_mcp_server(request: web.Request) -> web.Response:
    """Connect to a server again. Raises NotFound; InputError for one that is disabled."""
    server = await get_authorized_host(request).mcp.restart(request.match_info["server_id"])
    return json_response({"ok": True, **server.to_json()})
