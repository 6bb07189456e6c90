"""In-memory traces."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from sophon.stores.traces.contract import TraceWrite, TurnTotal
from sophon.traces.trace import Trace


class InMemoryTraceStore:
    """The traces of an `InMemoryStore`; see `TraceStore`."""

    def __init__(self) -> None:
        self._rows: dict[str, Trace] = {}

    async def add(self, writes: Sequence[TraceWrite]) -> None:
        """See `TraceStore.add`."""
        self.put(writes)

    async def find(self, run_id: str) -> Trace | None:
        """See `TraceStore.find`."""
        return self._rows.get(run_id)

    async def list(
        self, *, limit: int = 100, principal: str | None = None, session_id: str | None = None
    ) -> Sequence[Trace]:
        """See `TraceStore.list`."""
        found = [
            each
            for each in reversed(self._rows.values())
            if principal in (None, each.principal) and session_id in (None, each.session_id)
        ]
        found.sort(key=lambda each: each.ended_at, reverse=True)
        return found[: max(limit, 0)]

    async def list_daily(self, *, since: datetime, principal: str | None = None) -> Sequence[TurnTotal]:
        """See `TraceStore.list_daily`."""
        totals: dict[tuple[str, str], TurnTotal] = {}
        for each in self._rows.values():
            if each.ended_at < since or each.status == "suspended" or principal not in (None, each.principal):
                continue
            key = (each.ended_at.date().isoformat(), each.principal)
            known = totals.get(key) or TurnTotal(*key, 0, 0, 0, 0, 0, 0, 0)
            totals[key] = replace(
                known,
                turns=known.turns + 1,
                failed=known.failed + (each.status == "failed"),
                cancelled=known.cancelled + (each.status == "cancelled"),
                working_ms=known.working_ms + each.working_ms,
                max_working_ms=max(known.max_working_ms, each.working_ms),
                tokens=known.tokens + each.usage.total_tokens,
                cost_micros=known.cost_micros + each.usage.cost_micros,
            )
        return [totals[key] for key in sorted(totals)]

    async def expire(self, before: datetime) -> int:
        """See `TraceStore.expire`."""
        old = [run_id for run_id, each in self._rows.items() if each.ended_at < before]
        for run_id in old:
            del self._rows[run_id]
        return len(old)

    def put(self, writes: Sequence[TraceWrite]) -> None:
        """Store traces."""
        for write in writes:
            self._rows.pop(write.trace.run_id, None)
            self._rows[write.trace.run_id] = write.trace

    def forget_session(self, session_id: str) -> None:
        """Delete what belongs to a session that is deleted."""
        self._rows = {key: each for key, each in self._rows.items() if each.session_id != session_id}

    def forget_person(self, person: str) -> int:
        """Delete the traces of a person; return how many."""
        own = [run_id for run_id, each in self._rows.items() if each.principal == person]
        for run_id in own:
            del self._rows[run_id]
        return len(own)
