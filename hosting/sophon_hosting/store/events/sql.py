"""SQL event log: a row per event or trace, and a row per session with the seq up to which events were dropped."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import partial

from sqlalchemy import (
    BigInteger,
    Connection,
    ScalarSelect,
    Table,
    bindparam,
    delete,
    func,
    insert,
    literal,
    literal_column,
    select,
    update,
)

from sophon.stores.sessions.sql_rows import session_not_found_error
from sophon.stores.sql.batched_deletion import EXPIRE_BATCH_SIZE
from sophon.stores.sql.column_types import KEYS_PER_PARENT, UtcTime, belongs_to, to_key, to_seq
from sophon.stores.sql.prepared_statement import PreparedStatement
from sophon.stores.sql.repository import in_parts
from sophon.stores.sql.schema import sessions
from sophon.stores.sql.store_part import StorePart
from sophon.stores.texts.sql import TextWriter, drop_unreferenced_texts, find_text_ids
from sophon_channels.outbound_entry import prepare_entries
from sophon_hosting.store.events.logged_event import LoggedEvent, LogPosition
from sophon_hosting.store.outbound_rows import add_to_runs
from sophon_hosting.store.tables import checkpoint_logs, event_logs, events, runs, traces

_BY_SESSION = event_logs.c.session_id == bindparam("which")
# A literal, because a prepared statement is given its own parameters only.
_FIRST_KEY = event_logs.c.number * literal_column(str(KEYS_PER_PARENT), type_=BigInteger())
_NEXT_FIRST_KEY = _FIRST_KEY + literal_column(str(KEYS_PER_PARENT), type_=BigInteger())


def _newest_key(table: Table) -> ScalarSelect[int]:
    """Return the subquery for the last key of a log in `events` or `traces`; 0 if it has none."""
    of_log = (table.c.key > _FIRST_KEY) & (table.c.key < _NEXT_FIRST_KEY)
    newest = func.coalesce(func.max(table.c.key), literal_column("0", type_=BigInteger()))
    return select(newest).where(of_log).correlate(event_logs).scalar_subquery()


_SELECT_POSITION = PreparedStatement(
    lambda _: select(event_logs.c.number, event_logs.c.last_seq, _newest_key(events)).where(_BY_SESSION)
)
_SELECT_POSITIONS = (
    select(sessions.c.id, sessions.c.number, event_logs.c.last_seq, _newest_key(events))
    .select_from(sessions.outerjoin(event_logs, event_logs.c.session_id == sessions.c.id))
    .where(sessions.c.id.in_(bindparam("ids", expanding=True)))
)
_SELECT_AFTER = PreparedStatement(
    lambda _: (
        select(events.c.name, events.c.data, events.c.task_id, events.c.key, events.c.at)
        .where(events.c.key > bindparam("first"), events.c.key <= bindparam("last"))
        .order_by(events.c.key)
        .limit(bindparam("most"))
    )
)
_SELECT_TRACE_POSITION = PreparedStatement(lambda _: select(_newest_key(traces)).where(_BY_SESSION))
_INSERT_EVENTS = PreparedStatement(lambda _: insert(events))
_INSERT_TRACES = PreparedStatement(lambda _: insert(traces))
_DELETE_LEFTOVERS = (
    PreparedStatement(
        lambda _: delete(events).where(events.c.key >= bindparam("first"), events.c.key < bindparam("next"))
    ),
    PreparedStatement(
        lambda _: delete(traces).where(traces.c.key >= bindparam("first"), traces.c.key < bindparam("next"))
    ),
)
_SELECT_SESSION = (
    select(sessions.c.number, sessions.c.id)
    .join(event_logs, event_logs.c.session_id == sessions.c.id)
    .where(event_logs.c.number == bindparam("log"))
)
_HAS_LARGE = '%"large":%'
"""Pattern of the data of an event that refers to texts."""
_OLDEST_AT = (
    select(events.c.at)
    .where(events.c.key > _FIRST_KEY, events.c.key < _NEXT_FIRST_KEY)
    .order_by(events.c.key)
    .limit(1)
    .correlate(event_logs)
    .scalar_subquery()
)


class EventLog(StorePart):
    """A numbered log per session without gaps; only its oldest part is ever dropped. It is deleted with its session.

    Beside it are the traces of the session's tasks, which are dropped together with events of the same age.
    """

    @classmethod
    def delete_session(cls, connection: Connection, session_id: str) -> None:
        """See `StorePart.delete_session`. The log itself is deleted by a foreign key."""
        log = connection.execute(select(event_logs.c.number).where(event_logs.c.session_id == session_id)).scalar()
        if log is None:
            return
        for table in (events, traces):
            connection.execute(delete(table).where(belongs_to(table.c.key, log)))

    async def append(self, session_id: str, events: Sequence[LoggedEvent]) -> int:
        """Append events in order, all or none, with their outbound entries; return the last seq; traces get none.

        Raises NotFound for an unknown session.
        """
        return await self._database.write(
            partial(add_events, session_id=session_id, new=tuple(events), at=self._clock.now())
        )

    async def list_after(self, session_id: str, seq: int, limit: int = 1000) -> list[LoggedEvent]:
        """Return at most `limit` events that follow a seq, in order; none for an unknown session.

        If the first is not `seq + 1`, or if there is none and `last_seq` is greater, the events in between were
        dropped.
        """
        return await self._database.read(partial(_list_after, session_id=session_id, seq=seq, limit=max(limit, 0)))

    async def list_traces(self, session_id: str, task_id: str) -> list[LoggedEvent]:
        """Return the traces of a task, in the order in which they were stored."""
        return await self._database.read(partial(_list_traces, session_id=session_id, task_id=task_id))

    async def last_seq(self, session_id: str) -> int:
        """Return the last seq that was assigned, even if that event was dropped; 0 if there was none."""
        return await self._database.read(partial(select_last_seq, session_id=session_id))

    async def find_positions(self, session_ids: Sequence[str]) -> Mapping[str, LogPosition]:
        """Return where the logs of sessions are, by session id; unknown sessions are left out. One query for all."""
        return await self._database.read(partial(_find_positions, session_ids=tuple(session_ids)))

    async def trim(self, session_id: str, keep: int) -> int:
        """Drop all but the newest `keep` events of a session, and of its traces; return how many were dropped."""
        return await self._database.write(partial(_trim, session_id=session_id, keep=max(keep, 0)))

    async def expire(self, before: datetime) -> int:
        """In every session, drop all events up to the last one that is older than `before`; return how many.

        Its traces that are as old are dropped with them. Uses several transactions if there is much to delete.
        """
        dropped = 0
        while logs := await self._database.read(partial(_find_old_logs, before=before)):
            dropped += await self._database.write(partial(_expire, logs=logs, before=before))
        return dropped


def add_events(
    connection: Connection,
    session_id: str,
    new: Sequence[LoggedEvent],
    at: datetime,
    text_writer: TextWriter | None = None,
) -> int:
    """Number events, append them to a session's log and return its last seq. Raises NotFound for an unknown session.

    Without events nothing is written. `text_writer` is the one that the transaction has used for that session.
    """
    if not new:
        return select_last_seq(connection, session_id)
    numbered = [event for event in new if not event.is_trace]
    traced = [event for event in new if event.is_trace]
    number, last_seq = _find_position(connection, session_id) or (_create_log(connection, session_id), 0)
    rows = [
        {"key": to_key(number, seq), "name": event.name, "task_id": event.task_id, "data": event.data, "at": at}
        for seq, event in enumerate(numbered, start=last_seq + 1)
    ]
    if any(event.texts for event in new):
        writer = text_writer or TextWriter(connection, session_id)
        for text_id, text in [item for event in new for item in event.texts.items()]:
            writer.insert(text_id, text)
    if rows:
        _INSERT_EVENTS.execute_many(connection, rows)
    if outbound := [entry for event in numbered for entry in event.outbound]:
        add_to_runs(connection, prepare_entries(outbound, at))
    if traced:
        _insert_traces(connection, session_id, number, traced, at)
    return last_seq + len(numbered)


def select_last_seq(connection: Connection, session_id: str) -> int:
    """Return the last seq of a session's log."""
    found = _find_position(connection, session_id)
    return found[1] if found is not None else 0


def _find_position(connection: Connection, session_id: str) -> tuple[int, int] | None:
    """Return the number and the last seq of a session's log; None if it has none."""
    found = _SELECT_POSITION.fetch_row(connection, {"which": session_id})
    if found is None:
        return None
    number, dropped, newest = found
    return number, max(dropped, to_seq(newest))


def _find_positions(connection: Connection, session_ids: Sequence[str]) -> Mapping[str, LogPosition]:
    found: dict[str, LogPosition] = {}
    for ids in in_parts(session_ids):
        for each, number, dropped, newest in connection.execute(_SELECT_POSITIONS, {"ids": ids}):
            found[each] = LogPosition(number, max(dropped or 0, to_seq(newest)))
    return found


def _create_log(connection: Connection, session_id: str) -> int:
    if connection.execute(select(sessions.c.number).where(sessions.c.id == session_id)).first() is None:
        raise session_not_found_error(connection, session_id)
    key = connection.execute(insert(event_logs), {"session_id": session_id, "last_seq": 0}).inserted_primary_key
    assert key is not None
    number = int(key[0])
    # A store without this part, as that of a chain, deletes a session and leaves its events; its number is used again.
    for statement in _DELETE_LEFTOVERS:
        statement.execute(connection, {"first": to_key(number, 0), "next": to_key(number + 1, 0)})
    return number


def _insert_traces(
    connection: Connection, session_id: str, number: int, traced: Sequence[LoggedEvent], at: datetime
) -> None:
    found = _SELECT_TRACE_POSITION.fetch_row(connection, {"which": session_id})
    first = (to_seq(found[0]) if found is not None else 0) + 1
    rows = [
        {
            "key": to_key(number, position),
            "name": event.name,
            "task_id": event.task_id,
            "data": event.data,
            "at": event.at or at,
        }
        for position, event in enumerate(traced, first)
    ]
    _INSERT_TRACES.execute_many(connection, rows)


def _list_after(connection: Connection, session_id: str, seq: int, limit: int) -> list[LoggedEvent]:
    found = _SELECT_POSITION.fetch_row(connection, {"which": session_id})
    if found is None:
        return []
    first, last = to_key(found[0], min(max(seq, 0), KEYS_PER_PARENT - 1)), to_key(found[0], KEYS_PER_PARENT - 1)
    rows = _SELECT_AFTER.fetch_rows(connection, {"first": first, "last": last, "most": limit})
    return [LoggedEvent(name, data, task, to_seq(key), at) for name, data, task, key, at in rows]


def _list_traces(connection: Connection, session_id: str, task_id: str) -> list[LoggedEvent]:
    found = _SELECT_POSITION.fetch_row(connection, {"which": session_id})
    if found is None:
        return []
    query = select(traces.c.name, traces.c.data, traces.c.task_id, traces.c.at).order_by(traces.c.key)
    rows = connection.execute(query.where(belongs_to(traces.c.key, found[0]), traces.c.task_id == task_id))
    return [LoggedEvent(name, data, task, at=at, is_trace=True) for name, data, task, at in rows]


def _trim(connection: Connection, session_id: str, keep: int) -> int:
    found = _find_position(connection, session_id)
    if found is None:
        return 0
    number, last_seq = found
    of_log = belongs_to(traces.c.key, number)
    older = select(traces.c.key).where(of_log).order_by(traces.c.key.desc()).offset(keep)
    last = connection.execute(older.limit(1)).scalar()
    if last is not None:
        connection.execute(delete(traces).where(of_log, traces.c.key <= last))
    return _drop(connection, number, last_seq - keep)


def _find_old_logs(connection: Connection, before: datetime) -> Sequence[int]:
    """Return the numbers of logs whose oldest event is older than a time; a log is in the order of time."""
    is_old = literal(before, UtcTime()) > _OLDEST_AT
    return connection.execute(select(event_logs.c.number).where(is_old).limit(EXPIRE_BATCH_SIZE)).scalars().all()


def _expire(connection: Connection, logs: Sequence[int], before: datetime) -> int:
    """Drop old events of these logs, of the first ones if there are more than a batch with their traces; return how
    many events.
    """
    dropped = traced = 0
    for number in logs:
        old = select(events.c.key).where(belongs_to(events.c.key, number), events.c.at < before)
        last = (
            connection.execute(old.order_by(events.c.key).limit(EXPIRE_BATCH_SIZE - dropped - traced))
            .scalars()
            .all()[-1:]
        )
        if last:
            is_old_trace = belongs_to(traces.c.key, number) & (traces.c.at < before)
            traced += connection.execute(delete(traces).where(is_old_trace)).rowcount
            dropped += _drop(connection, number, to_seq(last[0]))
        if dropped + traced >= EXPIRE_BATCH_SIZE:
            break
    return dropped


def _drop(connection: Connection, number: int, up_to: int) -> int:
    """Drop the events of a log up to a seq; return how many."""
    if up_to <= 0:
        return 0
    dropped = connection.execute(delete(events).where(belongs_to(events.c.key, number, up_to=up_to))).rowcount
    if dropped:
        is_log = (event_logs.c.number == number) & (event_logs.c.last_seq < up_to)
        connection.execute(update(event_logs).where(is_log).values(last_seq=up_to))
        _drop_unreferenced_texts(connection, number)
    return dropped


def _drop_unreferenced_texts(connection: Connection, log: int) -> None:
    """Delete the texts of a log's session that no record, run, event or trace refers to."""
    session = connection.execute(_SELECT_SESSION, {"log": log}).one()

    def find_used() -> set[str]:
        own = runs.c.session_id == session.id
        of_session = checkpoint_logs.c.run.in_(select(runs.c.number).where(own))
        return {
            *find_text_ids(connection, [runs.c.response, runs.c.checkpoint, runs.c.options], own),
            *find_text_ids(connection, [checkpoint_logs.c.entry], of_session),
            *find_text_ids(connection, [events.c.data], belongs_to(events.c.key, log), _HAS_LARGE),
            *find_text_ids(connection, [traces.c.data], belongs_to(traces.c.key, log), _HAS_LARGE),
        }

    drop_unreferenced_texts(connection, session.number, find_used)
