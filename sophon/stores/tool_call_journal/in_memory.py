"""In-memory journal. Runs are grouped by their turn, so that deleting one turn scans no other."""

from collections import defaultdict

from sophon.messages import ToolResult
from sophon.stores.run_fence import RunFence, StaleRun
from sophon.stores.tool_call_journal.contract import JournalEntry


class InMemoryJournal:
    """The journal of an `InMemoryStore`; see `Journal`."""

    def __init__(self) -> None:
        self._turns: defaultdict[str, dict[str, dict[str, JournalEntry]]] = defaultdict(dict)

    async def start(self, run_id: str, call_id: str, tool: str) -> None:
        """See `Journal.start`."""
        self.put(run_id, JournalEntry(call_id, tool))

    async def finish(self, run_id: str, result: ToolResult) -> None:
        """See `Journal.finish`."""
        self.put(run_id, JournalEntry(result.call_id, result.tool, result))

    def put(self, run_id: str, entry: JournalEntry) -> None:
        """Insert or replace the entry of a call."""
        turn = self._turns[run_id.partition("/")[0]]
        entries = turn.get(run_id)
        if entries is None:
            entries = turn[run_id] = {}
        entries[entry.call_id] = entry

    async def load_entries(self, run_id: str) -> dict[str, JournalEntry]:
        """See `Journal.load_entries`."""
        turn = self._turns.get(_turn_of(run_id))
        return dict(turn.get(run_id, {})) if turn else {}

    async def delete(self, run_id: str, *, fence: RunFence | None = None) -> None:
        """See `Journal.delete`."""
        if fence is not None:  # there are no runs
            raise StaleRun(fence.run_id, fence.start)
        turn_id = _turn_of(run_id)
        if turn_id == run_id:
            self._turns.pop(turn_id, None)
            return
        turn = self._turns.get(turn_id, {})
        for name in [name for name in turn if name == run_id or name.startswith(f"{run_id}/")]:
            del turn[name]


def _turn_of(run_id: str) -> str:
    return run_id.partition("/")[0]
