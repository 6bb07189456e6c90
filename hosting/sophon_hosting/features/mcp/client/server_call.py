"""A call that a server works on: whom its questions go to, and where its progress is shown."""

from dataclasses import field
from typing import Final, Protocol

import anyio

from sophon._python.lazy_dataclass import dataclass
from sophon.context import Context
from sophon.events import AgentStatus
from sophon.invisible_characters import escape_invisible
from sophon_hosting.features.mcp.client.elicitation import ElicitingCall
from sophon_hosting.features.mcp.client.server_status import ServerStatus
from sophon_hosting.features.mcp.events import McpRequested

PROGRESS_SECONDS: Final = 0.5
"""Time between two reports of progress that are shown; the others are dropped."""

MAX_PROGRESS: Final = 200


class ReportProgress(Protocol):
    """Shows how far a call is."""

    async def __call__(self, progress: float, total: float | None, message: str | None) -> None:
        """Show it."""
        ...


@dataclass(slots=True, eq=False)
class ServerCall:
    """A call in flight of a turn; `eliciting` is None if nobody can be asked. `scopes` are of its open questions."""

    ctx: Context | None = None
    eliciting: ElicitingCall | None = None
    on_progress: ReportProgress | None = None
    scopes: set[anyio.CancelScope] = field(default_factory=set[anyio.CancelScope])

    @property
    def run_id(self) -> str:
        """Id of the run whose call it is, "" if it is of none."""
        return "" if self.ctx is None else self.ctx.run_id

    def end(self) -> None:
        """Cancel the open questions: nobody needs their answers any more."""
        for scope in self.scopes:
            scope.cancel()


def note_request(call: ServerCall, server: ServerStatus, tool: str, seconds: float, error: str) -> None:
    """Write a request that has ended into the trace of its turn."""
    if call.ctx is not None and call.ctx.has_listeners:
        call.ctx.emit(
            McpRequested(
                server=server.id,
                tool=tool,
                protocol=server.protocol,
                duration_ms=round(seconds * 1000),
                questions=0 if call.eliciting is None else call.eliciting.questions,
                error=error,
            )
        )


def report_progress(ctx: Context, tool: str) -> ReportProgress:
    """Return the function that shows the progress of a call as the activity of its turn; no timeout changes by it."""
    clock, shown = ctx.services.clock, [float("-inf")]

    async def report(progress: float, total: float | None, message: str | None) -> None:
        now = clock.monotonic()
        if now - shown[0] >= PROGRESS_SECONDS:
            shown[0] = now
            ctx.emit(AgentStatus(status="calling_tool", detail=format_progress(tool, progress, total, message)))

    return report


def format_progress(tool: str, progress: float, total: float | None, message: str | None) -> str:
    """Return progress as one line for a person. Pure."""
    done = f"{progress:g}" if total is None else f"{progress:g} of {total:g}"
    text = escape_invisible(" ".join((message or "").split()))[:MAX_PROGRESS]
    return f"{tool}: {done} {text}".rstrip()
