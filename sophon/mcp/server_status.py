"""State of the configured MCP servers and their tools, for people."""

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

from sophon.lazy_dataclass import dataclass

ServerState: TypeAlias = Literal["starting", "ready", "failed", "disabled"]
"""`starting` also between two attempts; `failed` if there are no more."""

ToolState: TypeAlias = Literal["offered", "changed", "disabled", "unusable"]
"""`changed`: the definition is not the one that was accepted; `disabled` by Tools.Disabled."""


@dataclass(frozen=True, slots=True)
class ToolStatus:
    """A tool of a server: `digest` is that of its definition, `reason` says why it is unusable.

    `parameters` is the JSON Schema of the arguments of a tool that waits for acceptance, else None.
    """

    name: str
    state: ToolState
    risk: str
    description: str
    digest: str
    reason: str = ""
    parameters: Mapping[str, Any] | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the row of the HTTP API."""
        row = {"name": self.name, "state": self.state, "risk": self.risk, "description": self.description}
        return {**row, "digest": self.digest, "reason": self.reason, "parameters": self.parameters}


@dataclass(frozen=True, slots=True)
class ServerStatus:
    """A server with its tools; `error` is the last failure, "" after a success."""

    id: str
    state: ServerState
    error: str = ""
    tools: tuple[ToolStatus, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the row of the HTTP API."""
        return {
            "id": self.id,
            "state": self.state,
            "error": self.error,
            "tools": [each.to_json() for each in self.tools],
        }
