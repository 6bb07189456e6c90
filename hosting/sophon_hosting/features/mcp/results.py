"""Results of MCP: the servers with their tools."""

from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from sophon._python.lazy_typed_dict import TypedDict

if TYPE_CHECKING:
    from sophon_hosting.features.mcp.client.server_status import ServerStatus, ToolStatus

# As in `sophon_hosting.features.mcp.client.server_status`, which a host without MCP servers does not load.
ServerState: TypeAlias = Literal["starting", "ready", "failed", "disabled"]
ToolState: TypeAlias = Literal["offered", "changed", "disabled", "unusable"]


class McpToolView(TypedDict):
    """A tool of an MCP server; `parameters` is the JSON Schema of its arguments while it waits for acceptance."""

    name: str
    state: ToolState
    risk: str
    description: str
    digest: str
    reason: str
    parameters: dict[str, Any] | None
    calls: int
    failures: int
    last_error: str
    last_duration_ms: int


class McpServerView(TypedDict):
    """An MCP server with its tools; `error` is its last failure, empty after a success."""

    id: str
    state: ServerState
    error: str
    protocol: str
    software: str
    tools: list[McpToolView]


class McpServerList(TypedDict):
    """The MCP servers in the order of the settings."""

    items: list[McpServerView]


def mcp_server_to_json(status: "ServerStatus") -> McpServerView:
    """Return a server with its tools as JSON."""
    return {
        "id": status.id,
        "state": status.state,
        "error": status.error,
        "protocol": status.protocol,
        "software": status.software,
        "tools": [_tool_to_json(each) for each in status.tools],
    }


def _tool_to_json(tool: "ToolStatus") -> McpToolView:
    return {
        "name": tool.name,
        "state": tool.state,
        "risk": tool.risk,
        "description": tool.description,
        "digest": tool.digest,
        "reason": tool.reason,
        "parameters": None if tool.parameters is None else dict(tool.parameters),
        "calls": tool.calls.calls,
        "failures": tool.calls.failures,
        "last_error": tool.calls.last_error,
        "last_duration_ms": tool.calls.last_duration_ms,
    }
