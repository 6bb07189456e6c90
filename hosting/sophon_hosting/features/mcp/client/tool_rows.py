"""Rows of the tools in the status of a server. Pure."""

from collections.abc import Collection

from sophon.risk import Risk
from sophon.tools.tool import Tool
from sophon_hosting.features.mcp.client.server_status import ToolState, ToolStatus
from sophon_hosting.features.mcp.client.server_tools import choose_risk
from sophon_hosting.features.mcp.client.tool_definition import ToolDefinition
from sophon_hosting.features.mcp.settings import McpServerSettings


def describe_tool(
    server: McpServerSettings, definition: ToolDefinition, disabled: Collection[str], changed: Collection[str]
) -> ToolStatus:
    """Return the row of a tool that the server lists; `changed` are the names of those that nobody has accepted so."""
    state: ToolState = "changed" if definition.name in changed else "offered"
    if f"{server.id}.{definition.name}" in disabled:
        state = "disabled"
    fault = definition.find_fault(server.id)
    return ToolStatus(
        definition.name,
        state if fault is None else "unusable",
        choose_risk(definition.name, definition.annotations, server.read_only).label,
        definition.description,
        definition.digest,
        fault or "",
        definition.schema if state == "changed" and fault is None else None,
    )


def describe_dropped(name: str, reason: str) -> ToolStatus:
    """Return the row of an entry of the list that is not valid."""
    return ToolStatus(name, "unusable", Risk.HIGH.label, "", "", reason)


def describe_reader(server: str, reader: Tool) -> ToolStatus:
    """Return the row of a tool that reads the resources or prompts of the server."""
    name = reader.name.removeprefix(f"{server}.")
    return ToolStatus(name, "offered", reader.risk.label, reader.description, "")
