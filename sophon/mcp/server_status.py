"""State of the configured MCP servers and their tools, for people."""

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

from sophon.lazy_dataclass import dataclass
from sophon.mcp.call_statistics import NO_CALLS, CallStatistics

ServerState: TypeAlias = Literal["starting", "ready", "failed", "disabled"]
"""`starting` also between two attempts; `failed` if there are no more."""

ToolState: TypeAlias = Literal["offered", "changed", "disabled", "unusable"]
"""`changed`: the definition is not the one that was accepted; `disabled` by Tools.Disabled."""


@dataclass(frozen=True, slots=True)
class ToolStatus:
    """A tool of a server: `digest` is that of its definition, `reason` says why it is unusable.

    `parameters` is the JSON Schema of the arguments of a tool that waits for acceptance, else None. `calls` is what
    `SupervisedServer.describe` adds.
    """

    name: str
    state: ToolState
    risk: str
    description: str
    digest: str
    reason: str = ""
    parameters: Mapping[str, Any] | None = None
    calls: CallStatistics = NO_CALLS

    def to_json(self) -> dict[str, Any]:
        """Return the row of the HTTP API."""
        row: dict[str, Any] = {
            "name": self.name,
            "state": self.state,
            "risk": self.risk,
            "description": self.description,
        }
        row |= {"digest": self.digest, "reason": self.reason, "parameters": self.parameters}
        return {**row, **self.calls.to_json()}


@dataclass(frozen=True, slots=True)
class ServerStatus:
    """A server with its tools; `error` is the last failure, "" after a success.

    `protocol` and `software` are what it said at its last connection: version of the protocol, and name and version.
    """

    id: str
    state: ServerState
    error: str = ""
    tools: tuple[ToolStatus, ...] = ()
    protocol: str = ""
    software: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return the row of the HTTP API."""
        return {
            "id": self.id,
            "state": self.state,
            "error": self.error,
            "protocol": self.protocol,
            "software": self.software,
            "tools": [each.to_json() for each in self.tools],
        }
