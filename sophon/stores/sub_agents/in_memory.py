"""In-memory ledger of sub-agents."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime

from sophon.stores.sub_agents.contract import SubAgentRun


class InMemorySubAgentStore:
    """The ledger of an `InMemoryStore`; see `SubAgentStore`."""

    def __init__(self) -> None:
        self._rows: dict[str, SubAgentRun] = {}

    async def put(self, rows: Sequence[SubAgentRun]) -> None:
        """See `SubAgentStore.put`."""
        self.add(rows)

    def add(self, rows: Sequence[SubAgentRun]) -> None:
        """Store sub-agents."""
        for row in rows:
            known = self._rows.get(row.id)
            if known is not None:
                row = replace(known, state=row.state, finished_at=row.finished_at, detail=row.detail)
            self._rows[row.id] = row

    async def find(self, sub_agent_id: str) -> SubAgentRun | None:
        """See `SubAgentStore.find`."""
        return self._rows.get(sub_agent_id)

    async def list_for_task(self, task_id: str) -> Sequence[SubAgentRun]:
        """See `SubAgentStore.list_for_task`."""
        return [each for each in self._rows.values() if each.task_id == task_id]

    async def list_unfinished(self, principal: str | None = None) -> Sequence[SubAgentRun]:
        """See `SubAgentStore.list_unfinished`."""
        return [each for each in self._rows.values() if not each.is_finished and principal in (None, each.principal)]

    async def request_cancel(self, sub_agent_id: str) -> bool:
        """See `SubAgentStore.request_cancel`."""
        row = self._rows.get(sub_agent_id)
        if row is None or row.is_finished:
            return False
        self._rows[sub_agent_id] = replace(row, cancel_requested=True)
        return True

    async def expire(self, before: datetime) -> int:
        """See `SubAgentStore.expire`."""
        return self._remove(lambda row: row.created_at < before)

    def forget_session(self, session_id: str) -> None:
        """Delete what belongs to a session that is deleted."""
        self._remove(lambda row: row.session_id == session_id)

    def forget_person(self, person: str) -> int:
        """Delete the sub-agents that worked for a person; return how many."""
        return self._remove(lambda row: row.principal == person)

    def _remove(self, is_old: Callable[[SubAgentRun], bool]) -> int:
        old = [row.id for row in self._rows.values() if is_old(row)]
        for each in old:
            del self._rows[each]
        return len(old)
