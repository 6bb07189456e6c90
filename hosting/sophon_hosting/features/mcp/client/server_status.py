"""State of the configured MCP servers and their tools, for people."""

from collections.abc import Mapping
from typing import Any, Final, Literal, TypeAlias

from sophon._python.lazy_dataclass import dataclass

ServerState: TypeAlias = Literal["starting", "ready", "failed", "disabled"]
"""`starting` also between two attempts; `failed` if there are no more."""

ToolState: TypeAlias = Literal["offered", "changed", "disabled", "unusable"]
"""`changed`: the definition is not the one that was accepted; `disabled` by Tools.Disabled."""


@dataclass(frozen=True, slots=True)
class CallStatistics:
    """Calls of one tool: how many, how many failed, the last error and the last duration."""

    calls: int = 0
    failures: int = 0
    last_error: str = ""
    last_duration_ms: int = 0

    def with_call(self, seconds: float, error: str = "") -> "CallStatistics":
        """Return the statistics with one more call; with `error` it failed."""
        return CallStatistics(
            self.calls + 1, self.failures + bool(error), error or self.last_error, round(seconds * 1000)
        )


NO_CALLS: Final = CallStatistics()


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
