"""In-memory journal. Runs are grouped by their turn, so that deleting one turn scans no other."""

from collections import defaultdict
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Protocol

from sophon.messages import ToolResult
from sophon.stores.run_fence import RunFence
from sophon.stores.tool_call_journal.contract import JournalEntry


class Ending(Protocol):
    """A run, of which the journal asks when it ended."""

    @property
    def finished_at(self) -> datetime | None: ...


class InMemoryJournal:
    """The journal of an `InMemoryStore`; see `Journal`. `runs` holds the runs by id."""

    def __init__(self, runs: Mapping[str, Ending] | None = None) -> None:
        self._runs: Mapping[str, Ending] = {} if runs is None else runs
        self._turns: defaultdict[str, dict[str, dict[str, JournalEntry]]] = defaultdict(dict)
        self.check_fence: Callable[[RunFence | None], None] = lambda _: None
        """That of the store's runs."""

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
        self.check_fence(fence)
        turn_id = _turn_of(run_id)
        if turn_id == run_id:
            self._turns.pop(turn_id, None)
            return
        turn = self._turns.get(turn_id, {})
        for name in [name for name in turn if name == run_id or name.startswith(f"{run_id}/")]:
            del turn[name]

    def forget_turn(self, turn_id: str) -> None:
        """Delete the entries of a turn whose run is deleted."""
        self._turns.pop(turn_id, None)

    async def expire(self, before: datetime) -> int:
        """See `Journal.expire`."""
        ended = [turn for turn in self._turns if self._has_ended(turn, before)]
        return sum(len(entries) for turn in ended for entries in self._turns.pop(turn).values())

    def _has_ended(self, turn: str, before: datetime) -> bool:
        run = self._runs.get(turn)
        return run is not None and run.finished_at is not None and run.finished_at < before


def _turn_of(run_id: str) -> str:
    return run_id.partition("/")[0]
