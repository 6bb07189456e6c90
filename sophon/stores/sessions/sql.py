"""SQL session store: a row per session, and a row per record."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any

from sqlalchemy import BigInteger, Connection, Row, RowMapping, bindparam, delete, func, insert, literal, select, update

from sophon.clock import Clock
from sophon.errors import InputError
from sophon.messages import Message
from sophon.stores.audit.sql import blank_session_texts
from sophon.stores.data_labels.sql import copy_session_label, delete_session_label
from sophon.stores.grants.sql import delete_session_grants
from sophon.stores.memories.sql import delete_session_memories
from sophon.stores.schedules.sql import delete_session_schedules
from sophon.stores.sessions.contract import History, SessionPage, SessionRecord, SessionSummary
from sophon.stores.sessions.history_cache import HistoryCache
from sophon.stores.sessions.paging import decode_cursor, split_words
from sophon.stores.sessions.records import (
    assign_seqs,
    check_fork_position,
    is_conversational,
    session_not_found,
    take_up_to_bytes,
)
from sophon.stores.sessions.sql_history import load_history
from sophon.stores.sessions.sql_paging import NEWEST_FIRST, select_page, summary_from_row
from sophon.stores.sql.database import Database
from sophon.stores.sql.goal_deletion import delete_session_goals
from sophon.stores.sql.prepared_statement import PreparedStatement
from sophon.stores.sql.row_keys import belongs_to, to_key, to_seq
from sophon.stores.sql.schema import approvals, attempts, event_logs, events, journal, records, runs, sessions, traces
from sophon.stores.sub_agents.sql import delete_session_sub_agents
from sophon.stores.texts.sql import TextReader, TextWriter, copy_texts
from sophon.stores.traces.sql import delete_session_traces
from sophon.stores.trajectories.sql import delete_session_trajectories
from sophon.stores.vectors.sql import delete_session_vectors

SUGGESTION_POOL_SIZE = 1000
"""How many of the newest ids are searched for ones similar to an unknown id."""

# Built once: SQLAlchemy spends more time on building a statement than SQLite on executing it.
_BY_ID = sessions.c.id == bindparam("which")
_SELECT_SESSION = select(sessions).where(_BY_ID)
_INSERT_SESSION = insert(sessions)
_SELECT_POSITION = PreparedStatement(lambda _: select(sessions.c.number, sessions.c.last_seq).where(_BY_ID))
_ADVANCE_SEQ = PreparedStatement(
    lambda _: (
        update(sessions)
        .where(_BY_ID)
        .values(
            last_seq=sessions.c.last_seq + bindparam("more"),
            said=sessions.c.said + bindparam("more_said"),
            updated_at=bindparam("now"),
        )
    )
)
_INSERT_RECORDS = PreparedStatement(lambda _: insert(records))


class SqlSessionStore:
    """The sessions of an `SqlStore`; see `SessionStore`."""

    def __init__(self, database: Database, clock: Clock, history_cache: HistoryCache | None = None) -> None:
        self._database = database
        self._clock = clock
        self.history_cache = history_cache or HistoryCache()

    async def load_history(self, session_id: str) -> History:
        """See `SessionStore.load_history`. Reads what was appended since the last load; see `HistoryCache`."""
        return await load_history(self._database, self.history_cache, session_id)

    async def append(self, session_id: str, records: Sequence[SessionRecord], *, owner: str = "") -> int:
        """See `SessionStore.append`."""
        if not records:
            return await self._database.read(partial(_last_seq, session_id=session_id))
        new = assign_seqs(records, 0, self._clock.now())
        return await self._database.write(partial(add_records, session_id=session_id, new=new, owner=owner))

    async def get_or_create(self, session_id: str, owner: str = "") -> SessionSummary:
        """See `SessionStore.get_or_create`. An existing session costs a read only."""
        found = await self.find(session_id)
        if found is not None:
            return found
        return await self._database.write(partial(_ensure, session_id=session_id, owner=owner, now=self._clock.now()))

    async def list_records(
        self,
        session_id: str,
        after: int = 0,
        *,
        before: int | None = None,
        limit: int | None = None,
        max_bytes: int | None = None,
    ) -> list[SessionRecord]:
        """See `SessionStore.list_records`."""
        return await self._database.read(
            partial(_records, session_id=session_id, after=after, before=before, limit=limit, max_bytes=max_bytes)
        )

    async def list(self, owner: str | None = None) -> list[SessionSummary]:
        """See `SessionStore.list`."""
        query = select(sessions).order_by(*NEWEST_FIRST)
        wanted = query if owner is None else query.where(sessions.c.owner == owner)
        return await self._database.read(
            lambda connection: [summary_from_row(row) for row in connection.execute(wanted)]
        )

    async def list_page(
        self,
        owner: str | None = None,
        *,
        search: str = "",
        limit: int = 100,
        offset: int = 0,
        cursor: str | None = None,
    ) -> SessionPage:
        """See `SessionStore.list_page`."""
        page = partial(
            select_page,
            owner=owner,
            words=split_words(search),
            limit=max(limit, 0),
            offset=max(offset, 0),
            after=None if cursor is None else decode_cursor(cursor),
        )
        return await self._database.read(page)

    async def get(self, session_id: str) -> SessionSummary:
        """See `SessionStore.get`."""
        return await self._database.read(lambda connection: summary_from_row(_find(connection, session_id)))

    async def find(self, session_id: str) -> SessionSummary | None:
        """See `SessionStore.find`."""
        return await self._database.read(partial(find_session, session_id=session_id))

    async def rename(self, session_id: str, title: str) -> None:
        """See `SessionStore.rename`."""
        await self._database.write(partial(_update_column, session_id=session_id, column="title", value=title))

    async def set_model(self, session_id: str, model: str | None) -> None:
        """See `SessionStore.set_model`."""
        await self._database.write(partial(_update_column, session_id=session_id, column="model", value=model))

    async def change_owner(self, session_id: str, owner: str) -> None:
        """See `SessionStore.change_owner`."""
        await self._database.write(partial(_update_column, session_id=session_id, column="owner", value=owner))

    async def fork(self, session_id: str, new_id: str, *, upto: int | None = None) -> None:
        """See `SessionStore.fork`."""
        now = self._clock.now()
        await self._database.write(partial(_fork, session_id=session_id, new_id=new_id, upto=upto, now=now))

    async def delete(self, session_id: str) -> None:
        """See `SessionStore.delete`."""
        try:
            await self._database.write(partial(_delete, session_id=session_id))
        finally:
            self.history_cache.invalidate(session_id)
        await self._database.clear_log()


def add_records(
    connection: Connection,
    session_id: str,
    new: Sequence[SessionRecord],
    owner: str,
    text_writer: TextWriter | None = None,
) -> int:
    """Append stamped records to a session, creating it if needed; return its last seq.

    `text_writer` is the one that the transaction uses for that session.
    """
    visible = [is_conversational(record) for record in new]
    number, last_seq = _advance_seq(connection, session_id, len(new), sum(visible), owner, new[0].at)
    before = last_seq - len(new)
    writer = text_writer or TextWriter(connection, session_id)
    rows = [
        {
            "key": to_key(number, before + record.seq),
            "kind": record.kind,
            "run_id": record.run_id,
            "message": writer.encode(record.message.to_json()) if record.message else None,
            "data": writer.encode(record.data),
            "said": is_visible,
            "at": record.at,
        }
        for record, is_visible in zip(new, visible, strict=True)
    ]
    _INSERT_RECORDS.execute_many(connection, rows)
    return last_seq


def create_session(connection: Connection, session_id: str, owner: str, now: datetime) -> None:
    """Create a session without records unless it exists."""
    if _SELECT_POSITION.fetch_row(connection, {"which": session_id}) is not None:
        return
    fresh = {"id": session_id, "owner": owner, "title": "", "last_seq": 0, "said": 0}
    _insert_session(connection, {**fresh, "created_at": now, "updated_at": now})


def find_session(connection: Connection, session_id: str) -> SessionSummary | None:
    """Return one session; None if it does not exist."""
    row = connection.execute(_SELECT_SESSION, {"which": session_id}).first()
    return None if row is None else summary_from_row(row)


def session_not_found_error(connection: Connection, session_id: str) -> Exception:
    """Return the NotFound error for an unknown session, with similar ids among the newest."""
    newest = connection.execute(select(sessions.c.id).order_by(*NEWEST_FIRST).limit(SUGGESTION_POOL_SIZE))
    return session_not_found(session_id, newest.scalars())


def _ensure(connection: Connection, session_id: str, owner: str, now: datetime) -> SessionSummary:
    create_session(connection, session_id, owner, now)
    return summary_from_row(_find(connection, session_id))


def _last_seq(connection: Connection, session_id: str) -> int:
    session = connection.execute(_SELECT_SESSION, {"which": session_id}).one_or_none()
    return session.last_seq if session else 0


def _advance_seq(
    connection: Connection, session_id: str, more: int, more_said: int, owner: str, now: datetime | None
) -> tuple[int, int]:
    """Advance the last seq, creating the session if needed; return its row number and the last seq."""
    facts = {"which": session_id, "more": more, "more_said": more_said, "now": now}
    _ADVANCE_SEQ.execute(connection, facts)
    grown = _SELECT_POSITION.fetch_row(connection, {"which": session_id})
    if grown is not None:
        return grown[0], grown[1]
    fresh = {"id": session_id, "owner": owner, "title": "", "last_seq": more, "said": more_said}
    return _insert_session(connection, {**fresh, "created_at": now, "updated_at": now}), more


def _insert_session(connection: Connection, facts: Mapping[str, Any]) -> int:
    """Insert a session; return its row number."""
    key = connection.execute(_INSERT_SESSION, facts).inserted_primary_key
    assert key is not None
    return int(key[0])


def _records(
    connection: Connection,
    session_id: str,
    after: int,
    before: int | None,
    limit: int | None,
    max_bytes: int | None,
) -> list[SessionRecord]:
    session = _find(connection, session_id)
    last = session.last_seq if before is None else before - 1
    query = select(records).where(belongs_to(records.c.key, session.number, after, last))
    query = query.order_by(records.c.key if before is None else records.c.key.desc())
    if limit is not None:
        query = query.limit(max(limit, 0))
    texts = TextReader(connection, session_id)
    # One at a time, so that no more texts are read than the page has room for.
    read = (_to_record(row, texts) for row in connection.execute(query).mappings())
    page = list(take_up_to_bytes(read, max_bytes))
    return page if before is None else page[::-1]


def _to_record(row: RowMapping, texts: TextReader) -> SessionRecord:
    message = Message.from_json(texts.decode(row["message"])) if row["message"] is not None else None
    return SessionRecord(row["kind"], row["run_id"], message, texts.decode(row["data"]), to_seq(row["key"]), row["at"])


def _update_column(connection: Connection, session_id: str, column: str, value: str | None) -> None:
    changed = connection.execute(update(sessions).where(_BY_ID).values({column: value}), {"which": session_id})
    if not changed.rowcount:
        raise session_not_found_error(connection, session_id)


def _fork(connection: Connection, session_id: str, new_id: str, upto: int | None, now: datetime) -> None:
    source = _find(connection, session_id)
    check_fork_position(upto)
    if connection.execute(_SELECT_SESSION, {"which": new_id}).one_or_none() is not None:
        raise InputError(f"session {new_id!r} exists already; choose another id")
    last_seq = source.last_seq if upto is None else min(upto, source.last_seq)
    kept = belongs_to(records.c.key, source.number, up_to=last_seq)
    said = connection.execute(select(func.count()).where(kept, records.c.said)).scalar_one()
    same = {"owner": source.owner, "title": source.title, "model": source.model}
    facts = {"id": new_id, "last_seq": last_seq, "said": said, "created_at": now, "updated_at": now}
    number = _insert_session(connection, same | facts)
    copied = [column for column in records.c if column is not records.c.key]
    distance = literal(to_key(number, 0) - to_key(source.number, 0), BigInteger())
    log = select(records.c.key + distance, *copied).where(kept)
    connection.execute(insert(records).from_select(["key", *(column.name for column in copied)], log))
    copy_texts(connection, source.number, number)
    copy_session_label(connection, session_id, new_id)


def _delete(connection: Connection, session_id: str) -> None:
    blank_session_texts(connection, session_id)
    delete_session_label(connection, session_id)
    delete_session_goals(connection, session_id)
    delete_session_grants(connection, session_id)
    delete_session_schedules(connection, session_id)
    delete_session_trajectories(connection, session_id)
    delete_session_sub_agents(connection, session_id)
    delete_session_traces(connection, session_id)
    delete_session_vectors(connection, session_id)
    delete_session_memories(connection, session_id)
    # What was spent stays in the totals, but is nothing of the next session of that id.
    connection.execute(update(attempts).where(attempts.c.session_id == session_id).values(session_id=""))
    session = _find(connection, session_id)
    connection.execute(delete(approvals).where(approvals.c.session_id == session_id))
    own_runs = select(runs.c.id).where(runs.c.session_id == session_id)
    connection.execute(delete(journal).where(journal.c.turn.in_(own_runs)))
    log = connection.execute(select(event_logs.c.number).where(event_logs.c.session_id == session_id)).scalar()
    connection.execute(delete(records).where(belongs_to(records.c.key, session.number)))
    if log is not None:
        connection.execute(delete(events).where(belongs_to(events.c.key, log)))
        connection.execute(delete(traces).where(belongs_to(traces.c.key, log)))
    # Foreign keys cascade to the other tables.
    connection.execute(delete(sessions).where(_BY_ID), {"which": session_id})


def _find(connection: Connection, session_id: str) -> Row[Any]:
    session = connection.execute(_SELECT_SESSION, {"which": session_id}).one_or_none()
    if session is None:
        raise session_not_found_error(connection, session_id)
    return session
