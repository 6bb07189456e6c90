"""`sophon mcp list`, `accept` and `restart`: the MCP servers of a host, and tools whose definition has changed.

Without a running host the servers are started for the command.
"""

import json
from collections.abc import Sequence
from typing import Annotated

import typer

from sophon.errors import InputError, NotFound
from sophon_hosting.cli.common_options import HostUrlOption, JsonOption
from sophon_hosting.cli.console.confirmation import YesOption, confirm
from sophon_hosting.cli.console.output import write_json, write_lines, write_notice, write_result, write_table
from sophon_hosting.cli.remote.host_selection import open_client
from sophon_hosting.features.mcp.operations import accept_mcp_tools, list_mcp_servers, restart_mcp_server
from sophon_hosting.features.mcp.results import McpServerView, McpToolView

ServerArgument = Annotated[str, typer.Argument(metavar="SERVER", help="The Id of an MCP server.")]
ToolsArgument = Annotated[
    list[str] | None, typer.Argument(metavar="[TOOL]...", help="Tools; without any, all that have changed.")
]


def list_servers(ctx: typer.Context, url: HostUrlOption = None, as_json: JsonOption = False) -> None:
    """List the MCP servers and their tools, with risk, state and last error.

    Without a running host they are started for the command.
    """
    found = open_client(ctx.obj, url).call(list_mcp_servers)["items"]
    if as_json:
        write_json(list(found))
        return
    if not found:
        write_lines(["There are no MCP servers; they are listed in the setting Mcp.Servers."])
        return
    rows = [
        (f"{server['id']}.{each['name']}", each["state"], each["risk"]) for server in found for each in server["tools"]
    ]
    write_table(("server", "state", "last error"), [(each["id"], each["state"], each["error"]) for each in found])
    if rows:
        write_lines([""])
        write_table(("tool", "state", "risk"), rows)
    for server in found:
        for each in server["tools"]:
            if each["reason"]:
                write_notice(f"{server['id']}.{each['name']}: {each['reason']}")


def accept(
    ctx: typer.Context,
    server: ServerArgument,
    tools: ToolsArgument = None,
    yes: YesOption = False,
    url: HostUrlOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show tools whose definition has changed since it was accepted, and offer them to the model again."""
    client = open_client(ctx.obj, url)
    rows = {each["id"]: each for each in client.call(list_mcp_servers)["items"]}
    if server not in rows:
        raise NotFound("MCP server", server, [*rows][:5])
    chosen = _choose(rows[server], tools)
    if not as_json:
        write_lines([line for each in chosen for line in _describe(each)])
    confirm(f"Accept {len(chosen)} tools as shown?", yes=yes, otherwise="nothing was accepted")
    digests = {each["name"]: each["digest"] for each in chosen}
    row = client.call(accept_mcp_tools, server_id=server, tools=digests)
    write_result(row, [f"accepted: {', '.join(each['name'] for each in chosen)}"], as_json=as_json)


def restart(ctx: typer.Context, server: ServerArgument, url: HostUrlOption = None, as_json: JsonOption = False) -> None:
    """Connect a running host to an MCP server again, also to one that has failed too often."""
    row = open_client(ctx.obj, url).call(restart_mcp_server, server_id=server)
    if as_json:
        write_json(row)
    elif row["state"] == "ready":
        write_lines([f"{server} is ready, with {len(row['tools'])} tools"])
    else:
        raise InputError(f"{server} is {row['state']}: {row['error'] or 'it does not answer yet'}")


def _choose(server: McpServerView, names: Sequence[str] | None) -> list[McpToolView]:
    changed = {each["name"]: each for each in server["tools"] if each["state"] == "changed"}
    if not changed:
        raise InputError(f"no tool of {server['id']} waits for acceptance")
    unknown = [name for name in names or () if name not in changed]
    if unknown:
        raise InputError(f"no changed tool of {server['id']} is called {', '.join(unknown)}")
    return [changed[name] for name in names or changed]


def _describe(tool: McpToolView) -> list[str]:
    parameters = json.dumps(tool["parameters"], indent=2)
    return [
        f"{tool['name']} ({tool['risk']} risk)",
        f"  {tool['description']}",
        *(f"  {line}" for line in parameters.split("\n")),
        "",
    ]
