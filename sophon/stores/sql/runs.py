"""SQL run store: a row per run, and a row per inbound message that was accepted with a key."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from sqlalchemy import ColumnElement, Connection, func, select

from sophon.clock import Clock
from sophon.stores.contracts import SessionRecord
from sophon.stores.log import stamped
from sophon.stores.outbound_contracts import OutboundEntry
from sophon.stores.outbound_moves import kept, of_run
from sophon.stores.run_contracts import (
    UNFINISHED,
    Accepted,
    Begun,
    Finished,
    InboundKey,
    LastEvents,
    Run,
    RunOutcome,
    RunStatus,
    no_events,
)
from sophon.stores.run_rules import NEAR_AMONG, accepted, begun, no_run, suspended, taken
from sophon.stores.sql import run_rows as statements
from sophon.stores.sql.database import Database
from sophon.stores.sql.events import add_events, last_event
from sophon.stores.sql.outbound import add_entries
from sophon.stores.sql.schema import runs
from sophon.stores.sql.sessions import add_records, open_session


@dataclass(frozen=True, slots=True)
class _Finish:
    outcome: RunOutcome
    at: datetime
    records: Sequence[SessionRecord]
    outbound: Sequence[OutboundEntry]
    events: LastEvents


class SqlRuns:
    """The runs of an `SqlStore`; see `RunStore`."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def accept(self, run: Run, key: InboundKey | None = None) -> Accepted:
        """See `RunStore.accept`."""
        return await self._database.write(partial(_accept, run=run, key=key, at=self._clock.now()))

    async def begin(self, run_id: str, at: datetime) -> Begun:
        """See `RunStore.begin`."""
        return await self._database.write(partial(_begin, run_id=run_id, at=at))

    async def checkpoint(self, run_id: str, state: Mapping[str, Any]) -> bool:
        """See `RunStore.checkpoint`."""
        return await self._database.write(partial(_checkpoint, run_id=run_id, state=state))

    async def suspend(self, run_id: str, state: Mapping[str, Any], waiting_for: Sequence[str]) -> Run:
        """See `RunStore.suspend`."""
        return await self._database.write(partial(_suspend, run_id=run_id, state=state, waiting_for=tuple(waiting_for)))

    async def finish(
        self,
        run_id: str,
        outcome: RunOutcome,
        *,
        records: Sequence[SessionRecord] = (),
        outbound: Sequence[OutboundEntry] = (),
        events: LastEvents = no_events,
    ) -> Finished:
        """See `RunStore.finish`."""
        now = self._clock.now()
        write = _Finish(outcome, now, stamped(records, 0, now), kept(of_run(run_id, outbound), now), events)
        return await self._database.write(partial(_finish, run_id=run_id, write=write))

    async def request_cancel(self, run_id: str) -> Run:
        """See `RunStore.request_cancel`."""
        return await self._database.write(partial(_request_cancel, run_id=run_id))

    async def get(self, run_id: str) -> Run:
        """See `RunStore.get`."""
        return await self._database.read(partial(_get, run_id=run_id))

    async def ahead(self, run_id: str) -> int:
        """See `RunStore.ahead`."""
        return await self._database.read(partial(_count_ahead, run_id=run_id))

    async def unfinished(self) -> list[Run]:
        """See `RunStore.unfinished`."""
        query = select(*statements.FACTS).where(runs.c.status.in_(UNFINISHED)).order_by(runs.c.number)
        return await self._database.read(
            lambda connection: [statements.run_of(row) for row in connection.execute(query)]
        )

    async def list(
        self,
        *,
        session_id: str | None = None,
        owner: str | None = None,
        status: RunStatus | None = None,
        limit: int = 100,
    ) -> list[Run]:
        """See `RunStore.list`."""
        query = select(*statements.FACTS).order_by(runs.c.number.desc()).limit(max(limit, 0))
        for column, value in ((runs.c.session_id, session_id), (runs.c.owner, owner), (runs.c.status, status)):
            if value is not None:
                query = query.where(column == value)
        return await self._database.read(
            lambda connection: [statements.run_of(row) for row in connection.execute(query)]
        )


def _accept(connection: Connection, run: Run, key: InboundKey | None, at: datetime) -> Accepted:
    source = {"channel": key.channel, "account": key.account, "external_id": key.external_id} if key else None
    known = statements.KNOWN.record(connection, source) if source else None
    if known is not None:
        return Accepted(statements.run_of(known), created=False)
    if statements.PLACE.row(connection, {"which": run.id}) is not None:
        raise taken(run.id)
    open_session(connection, run.session_id, run.owner, at)
    statements.ADD.run(connection, statements.new_row(run, at))
    inserted = statements.PLACE.row(connection, {"which": run.id})
    assert inserted is not None
    if source:
        statements.REMEMBER.run(connection, {**source, "run": inserted[0]})
    return Accepted(accepted(run, inserted[0], at), created=True)


def _begin(connection: Connection, run_id: str, at: datetime) -> Begun:
    result = begun(_get(connection, run_id), at)
    if result.verdict == "begun":
        run = result.run
        statements.BEGIN.run(
            connection,
            {
                "which": run_id,
                "new_status": run.status,
                "new_starts": run.starts,
                "new_started_at": run.started_at,
                "new_waiting_for": run.waiting_for,
            },
        )
    return result


def _checkpoint(connection: Connection, run_id: str, state: Mapping[str, Any]) -> bool:
    updated = statements.CHECKPOINT.run(connection, {"which": run_id, "running": "running", "state": state})
    if not updated and statements.PLACE.row(connection, {"which": run_id}) is None:
        raise _not_found(connection, run_id)
    return bool(updated)


def _suspend(connection: Connection, run_id: str, state: Mapping[str, Any], waiting_for: Sequence[str]) -> Run:
    found = _get(connection, run_id)
    run = suspended(found, state, waiting_for)
    if run is not found:
        changes = {"status": run.status, "checkpoint": run.checkpoint, "waiting_for": run.waiting_for}
        connection.execute(statements.SUSPEND.values(changes), {"which": run_id})
    return run


def _finish(connection: Connection, run_id: str, write: _Finish) -> Finished:
    found = statements.STANDING.record(connection, {"which": run_id})
    if found is None:
        raise _not_found(connection, run_id)
    session_id, finished_at = found
    if finished_at is not None:
        return Finished(first=False, seq=last_event(connection, session_id))
    outcome = write.outcome
    statements.END.run(
        connection,
        {
            "which": run_id,
            "new_status": outcome.status,
            "new_finished_at": write.at,
            "new_checkpoint": None,
            "new_waiting_for": (),
            "new_response": outcome.response,
            "new_error": statements.error_row(outcome.error),
        },
    )
    recorded = add_records(connection, session_id, write.records, owner="") if write.records else 0
    add_entries(connection, write.outbound)
    events = write.events(recorded)
    if not events:
        return Finished(True, last_event(connection, session_id), recorded)
    return Finished(True, add_events(connection, session_id, events, write.at), recorded)


def _request_cancel(connection: Connection, run_id: str) -> Run:
    connection.execute(statements.CANCEL, {"which": run_id})
    return _get(connection, run_id)


def _get(connection: Connection, run_id: str) -> Run:
    found = statements.FIND.record(connection, {"which": run_id})
    if found is None:
        raise _not_found(connection, run_id)
    return statements.run_of(found)


def _count_ahead(connection: Connection, run_id: str) -> int:
    run = _get(connection, run_id)
    if run.status != "queued":
        return 0
    before: tuple[ColumnElement[bool], ...] = (runs.c.status == "queued", runs.c.number < run.order)
    return connection.execute(select(func.count()).select_from(runs).where(*before)).scalar_one()


def _not_found(connection: Connection, run_id: str) -> Exception:
    newest = connection.execute(select(runs.c.id).order_by(runs.c.number.desc()).limit(NEAR_AMONG))
    return no_run(run_id, newest.scalars())
