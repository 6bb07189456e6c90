"""Results of MCP: the servers with their tools."""

from typing import TYPE_CHECKING, Any, cast

from sophon._python.lazy_typed_dict import TypedDict
from sophon.mcp.server_status import ServerState, ToolState
from sophon.risk import RiskLabel

if TYPE_CHECKING:
    from sophon.mcp.server_status import ServerStatus


class McpToolView(TypedDict):
    """A tool of an MCP server; `parameters` is the JSON Schema of its arguments while it waits for acceptance."""

    name: str
    state: ToolState
    risk: RiskLabel
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
    return cast(McpServerView, status.to_json())
