"""The journal's contract: the stored results of tool calls, by run and call id."""

from typing import Protocol

from sophon._python.lazy_dataclass import slotted_dataclass
from sophon.messages import ToolResult
from sophon.stores.run_fence import RunFence


@slotted_dataclass
class JournalEntry:
    """A tool call that was started; `result` is None while its outcome is unknown."""

    call_id: str
    tool: str
    result: ToolResult | None = None


class Journal(Protocol):
    """Repository of executed tool calls by run. A resumed run uses it to execute no call twice."""

    async def start(self, run_id: str, call_id: str, tool: str) -> None:
        """Record that the call is about to be executed."""
        ...

    async def finish(self, run_id: str, result: ToolResult) -> None:
        """Record the result of the call."""
        ...

    async def load_entries(self, run_id: str) -> dict[str, JournalEntry]:
        """Return the entries of a run by call id."""
        ...

    async def delete(self, run_id: str, *, fence: RunFence | None = None) -> None:
        """Delete the entries of a finished run and of its plan steps (`run_id/...`).

        Raises StaleRun for an old fence.
        """
        ...
