"""SQL traces: a row per run, with the whole trace in `data`."""

from collections.abc import Sequence
from datetime import datetime
from functools import partial
from typing import Any

from sqlalchemy import Connection, Select, case, func, select

from sophon.stores.sql.batched_deletion import recheck_and_delete_in_batches
from sophon.stores.sql.prepared_statement import prepare_upsert
from sophon.stores.sql.repository import Repository, matching
from sophon.stores.sql.schema import turn_traces
from sophon.stores.traces.turn_total import TurnTotal
from sophon.stores.unit_of_work import WriteKind
from sophon.traces.serialization import trace_from_json, trace_to_stored
from sophon.traces.trace import Trace

_COLUMNS = ("session_id", "principal", "ended_at", "day", "status", "working_ms", "tokens", "cost_micros", "data")
_UPSERT = prepare_upsert(turn_traces, ["run_id"], _COLUMNS)


class TraceStore(Repository):
    """Repository of traces by run. They are deleted with their session."""

    async def add(self, traces: Sequence[Trace]) -> None:
        """Store traces, all or none; one of a known run replaces it."""
        if traces:
            await self._database.add(WriteKind.TRACE, partial(add_traces, traces=tuple(traces)))

    async def find(self, run_id: str) -> Trace | None:
        """Return the trace of a run."""
        query = select(turn_traces.c.data).where(turn_traces.c.run_id == run_id)
        data = await self._database.read(lambda connection: connection.execute(query).scalar_one_or_none())
        return None if data is None else trace_from_json(data)

    async def list(
        self, *, limit: int = 100, principal: str | None = None, session_id: str | None = None
    ) -> Sequence[Trace]:
        """Return traces, those that ended or were suspended last first."""
        query = (
            select(turn_traces.c.data)
            .order_by(turn_traces.c.ended_at.desc(), turn_traces.c.number.desc())
            .limit(max(limit, 0))
        )
        query = query.where(*matching({turn_traces.c.principal: principal, turn_traces.c.session_id: session_id}))
        found = await self._database.read(lambda connection: connection.execute(query).scalars().all())
        return [trace_from_json(data) for data in found]

    async def list_daily(self, *, since: datetime, principal: str | None = None) -> Sequence[TurnTotal]:
        """Return the turns that ended since a time by their day in UTC and person, oldest first.

        A turn that waits for a person has not ended.
        """
        query = _select_daily(since, principal)
        rows: Sequence[Any] = await self._database.read(lambda connection: connection.execute(query).all())
        return [TurnTotal(row[0], row[1], *map(int, row[2:])) for row in rows]

    async def expire(self, before: datetime) -> int:
        """Delete traces of turns that ended before a time, a transaction per batch; return how many."""
        old = select(turn_traces.c.number).where(turn_traces.c.ended_at < before)
        return await recheck_and_delete_in_batches(self._database, old)


def add_traces(connection: Connection, traces: Sequence[Trace]) -> None:
    """Store traces, in the caller's transaction."""
    for trace in traces:
        row = {name: getattr(trace, name) for name in ("run_id", "session_id", "principal", "ended_at", "status")}
        row |= {"day": trace.ended_at.date().isoformat(), "working_ms": trace.working_ms}
        row |= {"tokens": trace.usage.total_tokens, "cost_micros": trace.usage.cost_micros}
        _UPSERT.execute(connection, {**row, "data": trace_to_stored(trace)})


def _select_daily(since: datetime, principal: str | None) -> Select[Any]:
    """Return the query of the totals; percentiles by nearest rank."""
    columns = turn_traces.c
    group = (columns.day, columns.principal)
    ranked = select(
        *(columns.day, columns.principal, columns.status, columns.working_ms, columns.tokens, columns.cost_micros),
        func.row_number().over(partition_by=group, order_by=columns.working_ms).label("rank"),
        func.count().over(partition_by=group).label("of"),
    ).where(columns.ended_at >= since, columns.status != "suspended", *matching({columns.principal: principal}))
    turns = ranked.subquery("turns").c
    key = (turns.day, turns.principal)
    percentiles = [func.min(case((turns.rank * 100 >= turns.of * percent, turns.working_ms))) for percent in (50, 95)]
    return (
        select(
            *key,
            func.count(),
            func.sum(case((turns.status == "failed", 1), else_=0)),
            func.sum(case((turns.status == "cancelled", 1), else_=0)),
            func.sum(turns.working_ms),
            func.max(turns.working_ms),
            func.sum(turns.tokens),
            func.sum(turns.cost_micros),
            *percentiles,
        )
        .group_by(*key)
        .order_by(*key)
    )
