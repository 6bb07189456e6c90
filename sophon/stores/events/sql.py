"""SQL event log: a row per event or trace, and a row per session with its last seq."""

from collections.abc import Sequence
from datetime import datetime
from functools import partial

from sqlalchemy import Connection, bindparam, delete, func, insert, select, update

from sophon.clock import Clock
from sophon.stores.events.contract import LoggedEvent
from sophon.stores.sessions.sql import session_not_found_error
from sophon.stores.sql.database import Database
from sophon.stores.sql.prepared_statement import PreparedStatement
from sophon.stores.sql.schema import event_logs, events, sessions, traces
from sophon.stores.texts.sql import TextWriter, drop_unreferenced_texts

EXPIRE_BATCH_SIZE = 5000
"""Events deleted per transaction; other writers run in between."""

_BY_SESSION = event_logs.c.session_id == bindparam("which")
_SELECT_POSITION = PreparedStatement(lambda _: select(event_logs.c.number, event_logs.c.last_seq).where(_BY_SESSION))
_ADVANCE_SEQ = PreparedStatement(
    lambda _: update(event_logs).where(_BY_SESSION).values(last_seq=event_logs.c.last_seq + bindparam("more"))
)
_INSERT_EVENTS = PreparedStatement(lambda _: insert(events))
_INSERT_TRACES = PreparedStatement(lambda _: insert(traces), ["log", "name", "task_id", "data", "at"])
_SELECT_TRACES = (
    select(traces.c.name, traces.c.data, traces.c.task_id, traces.c.at)
    .join(event_logs, traces.c.log == event_logs.c.number)
    .where(_BY_SESSION, traces.c.task_id == bindparam("task"))
    .order_by(traces.c.number)
)
_SELECT_AFTER = (
    select(events.c.name, events.c.data, events.c.task_id, events.c.seq, events.c.at)
    .join(event_logs, events.c.log == event_logs.c.number)
    .where(_BY_SESSION, events.c.seq > bindparam("after"))
    .order_by(events.c.seq)
    .limit(bindparam("most"))
)


class SqlEventLog:
    """The event log of an `SqlStore`; see `EventLog`."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def append(self, session_id: str, events: Sequence[LoggedEvent]) -> int:
        """See `EventLog.append`."""
        return await self._database.write(
            partial(add_events, session_id=session_id, new=tuple(events), at=self._clock.now())
        )

    async def list_after(self, session_id: str, seq: int, limit: int = 1000) -> list[LoggedEvent]:
        """See `EventLog.list_after`."""
        wanted = {"which": session_id, "after": seq, "most": max(limit, 0)}
        return await self._database.read(
            lambda connection: [LoggedEvent(*row) for row in connection.execute(_SELECT_AFTER, wanted)]
        )

    async def list_traces(self, session_id: str, task_id: str) -> list[LoggedEvent]:
        """See `EventLog.list_traces`."""
        wanted = {"which": session_id, "task": task_id}
        return await self._database.read(
            lambda connection: [
                LoggedEvent(name, data, task, at=at, is_trace=True)
                for name, data, task, at in connection.execute(_SELECT_TRACES, wanted)
            ]
        )

    async def last_seq(self, session_id: str) -> int:
        """See `EventLog.last_seq`."""
        return await self._database.read(partial(select_last_seq, session_id=session_id))

    async def trim(self, session_id: str, keep: int) -> int:
        """See `EventLog.trim`."""
        return await self._database.write(partial(_trim, session_id=session_id, keep=max(keep, 0)))

    async def expire(self, before: datetime) -> int:
        """See `EventLog.expire`. Uses several transactions if there is much to delete."""
        dropped = 0
        while more := await self._database.write(partial(_expire, before=before)):
            dropped += more
        return dropped


def add_events(
    connection: Connection,
    session_id: str,
    new: Sequence[LoggedEvent],
    at: datetime,
    text_writer: TextWriter | None = None,
) -> int:
    """Number events, append them to a session's log and return its last seq. Raises NotFound for an unknown session.

    `text_writer` is the one that the transaction has used for that session.
    """
    numbered = [event for event in new if not event.is_trace]
    growth = {"which": session_id, "more": len(numbered)}
    if not _ADVANCE_SEQ.execute(connection, growth):
        _create_log(connection, session_id)
        _ADVANCE_SEQ.execute(connection, growth)
    found = _SELECT_POSITION.fetch_row(connection, {"which": session_id})
    assert found is not None
    number, last_seq = found
    rows = [
        {"log": number, "seq": seq, "name": event.name, "task_id": event.task_id, "data": event.data, "at": at}
        for seq, event in enumerate(numbered, start=last_seq - len(numbered) + 1)
    ]
    trace_rows = [
        {"log": number, "name": event.name, "task_id": event.task_id, "data": event.data, "at": event.at or at}
        for event in new
        if event.is_trace
    ]
    if any(event.texts for event in new):
        writer = text_writer or TextWriter(connection, session_id)
        for text_id, text in [item for event in new for item in event.texts.items()]:
            writer.insert(text_id, text)
    if rows:
        _INSERT_EVENTS.execute_many(connection, rows)
    if trace_rows:
        _INSERT_TRACES.execute_many(connection, trace_rows)
    return last_seq


def select_last_seq(connection: Connection, session_id: str) -> int:
    """Return the last seq of a session's log."""
    found = _SELECT_POSITION.fetch_row(connection, {"which": session_id})
    return found[1] if found is not None else 0


def _create_log(connection: Connection, session_id: str) -> None:
    if connection.execute(select(sessions.c.number).where(sessions.c.id == session_id)).first() is None:
        raise session_not_found_error(connection, session_id)
    connection.execute(insert(event_logs), {"session_id": session_id, "last_seq": 0})


def _trim(connection: Connection, session_id: str, keep: int) -> int:
    found = _SELECT_POSITION.fetch_row(connection, {"which": session_id})
    if found is None:
        return 0
    older = select(traces.c.number).where(traces.c.log == found[0]).order_by(traces.c.number.desc()).offset(keep)
    last = connection.execute(older.limit(1)).scalar()
    if last is not None:
        connection.execute(delete(traces).where(traces.c.log == found[0], traces.c.number <= last))
    return _drop(connection, found[0], found[1] - keep)


def _expire(connection: Connection, before: datetime) -> int:
    old = select(events.c.log, events.c.seq).where(events.c.at < before).limit(EXPIRE_BATCH_SIZE).subquery()
    ends = connection.execute(select(old.c.log, func.max(old.c.seq)).group_by(old.c.log)).all()
    for log, _ in ends:
        connection.execute(delete(traces).where(traces.c.log == log, traces.c.at < before))
    return sum(_drop(connection, log, up_to) for log, up_to in ends)


def _drop(connection: Connection, log: int, up_to: int) -> int:
    dropped = connection.execute(delete(events).where(events.c.log == log, events.c.seq <= up_to)).rowcount
    if dropped:
        drop_unreferenced_texts(connection, log)
    return dropped
