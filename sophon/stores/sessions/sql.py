"""SQL session store: a row per session, and a row per record."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any

from sqlalchemy import (
    BigInteger,
    Connection,
    Integer,
    Row,
    RowMapping,
    bindparam,
    delete,
    func,
    insert,
    literal,
    select,
    update,
)

from sophon.clock import Clock
from sophon.errors import InputError
from sophon.messages import Message
from sophon.stores.attachments.sql import (
    change_session_attachments_owner,
    copy_session_attachments,
    delete_session_attachments,
)
from sophon.stores.audit.sql import blank_session_texts
from sophon.stores.data_labels.sql import copy_session_label, delete_session_label
from sophon.stores.grants.sql import delete_session_grants
from sophon.stores.memories.sql import delete_session_memories
from sophon.stores.message_search.sql_index import (
    PURGE_STEPS,
    IndexedText,
    add_messages,
    copy_messages,
    count_copies,
    purge_index,
    read_messages,
    remove_messages,
)
from sophon.stores.run_fence import RunFence
from sophon.stores.schedules.sql import delete_session_schedules
from sophon.stores.sessions.contract import (
    History,
    NewSession,
    SessionKind,
    SessionPage,
    SessionRecord,
    SessionSummary,
)
from sophon.stores.sessions.history_cache import HistoryCache
from sophon.stores.sessions.paging import decode_cursor, split_words
from sophon.stores.sessions.provisional_title import provisional_title
from sophon.stores.sessions.records import (
    assign_seqs,
    check_fork_position,
    first_text_of_user,
    is_conversational,
    session_busy,
    session_not_found,
    take_up_to_bytes,
)
from sophon.stores.sessions.sql_history import load_history
from sophon.stores.sessions.sql_idle import is_idle, select_idle
from sophon.stores.sessions.sql_paging import NEWEST_FIRST, select_page, summary_from_row
from sophon.stores.sql.column_types import SafeText
from sophon.stores.sql.database import Database
from sophon.stores.sql.goal_deletion import delete_session_goals
from sophon.stores.sql.prepared_statement import PreparedStatement
from sophon.stores.sql.row_keys import belongs_to, to_key, to_seq
from sophon.stores.sql.run_fences import check_fences
from sophon.stores.sql.schema import (
    IS_UNFINISHED,
    approvals,
    attempts,
    event_logs,
    events,
    journal,
    records,
    runs,
    sessions,
    traces,
)
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
_SELECT_POSITION = PreparedStatement(
    lambda _: select(
        sessions.c.number,
        sessions.c.last_seq,
        # Whether it has neither a title nor a provisional one.
        (func.length(sessions.c.title, type_=Integer()) + func.length(sessions.c.provisional_title, type_=Integer())),
    ).where(_BY_ID)
)
_SET_PROVISIONAL_TITLE = PreparedStatement(
    lambda _: update(sessions).where(_BY_ID).values(provisional_title=bindparam("beginning", type_=SafeText()))
)
_SELECT_OWNER = PreparedStatement(lambda _: select(sessions.c.owner).where(_BY_ID))
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
_SELECT_UNFINISHED = (
    select(runs.c.id).where(runs.c.session_id == bindparam("which"), IS_UNFINISHED).order_by(runs.c.number).limit(1)
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

    async def append(
        self, session_id: str, records: Sequence[SessionRecord], *, owner: str = "", fence: RunFence | None = None
    ) -> int:
        """See `SessionStore.append`."""
        if not records:
            return await self._database.read(partial(_last_seq, session_id=session_id))
        new = assign_seqs(records, 0, self._clock.now())
        return await self._database.write(partial(_append, session_id=session_id, new=new, owner=owner, fence=fence))

    async def get_or_create(self, session_id: str, owner: str = "") -> SessionSummary:
        """See `SessionStore.get_or_create`. An existing session costs a read only."""
        found = await self.find(session_id)
        if found is not None:
            return found
        return await self._database.write(partial(_ensure, session_id=session_id, owner=owner, now=self._clock.now()))

    async def add(self, session: NewSession) -> bool:
        """See `SessionStore.add`."""
        records = assign_seqs(session.records, 0, session.updated_at, keeps_times=True)
        return await self._database.write(partial(_add, session=session, new=records))

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

    async def list_turn(self, session_id: str, run_id: str) -> list[SessionRecord]:
        """See `SessionStore.list_turn`."""
        return await self._database.read(partial(_turn, session_id=session_id, run_id=run_id))

    async def list_family(self, session_id: str) -> Sequence[SessionSummary]:
        """See `SessionStore.list_family`."""
        return await self._database.read(partial(_list_family, session_id=session_id))

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
        kind: SessionKind | None = None,
    ) -> SessionPage:
        """See `SessionStore.list_page`."""
        page = partial(
            select_page,
            owner=owner,
            words=split_words(search),
            limit=max(limit, 0),
            offset=max(offset, 0),
            after=None if cursor is None else decode_cursor(cursor),
            kind=kind,
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
        await self._database.write(partial(_rename, session_id=session_id, title=title))

    async def mark(self, session_id: str, *, pinned: bool | None = None, archived: bool | None = None) -> None:
        """See `SessionStore.mark`."""
        await self._database.write(partial(_mark, session_id=session_id, pinned=pinned, archived=archived))

    async def set_model(self, session_id: str, model: str | None) -> None:
        """See `SessionStore.set_model`."""
        await self._database.write(partial(_update_column, session_id=session_id, column="model", value=model))

    async def set_planning(self, session_id: str, planning: str | None) -> None:
        """See `SessionStore.set_planning`."""
        await self._database.write(partial(_update_column, session_id=session_id, column="planning", value=planning))

    async def change_owner(self, session_id: str, owner: str) -> None:
        """See `SessionStore.change_owner`."""
        await self._database.write(partial(_change_owner, session_id=session_id, owner=owner))

    async def fork(self, session_id: str, new_id: str, *, upto: int | None = None, branch: bool = False) -> None:
        """See `SessionStore.fork`."""
        now = self._clock.now()
        await self._database.write(
            partial(copy_session, session_id=session_id, new_id=new_id, upto=upto, now=now, branch=branch)
        )

    async def join_family(self, session_id: str, family: str, forked_from: str | None, forked_at: int | None) -> None:
        """See `SessionStore.join_family`."""
        values = {"family": family, "forked_from": forked_from, "forked_at": forked_at}
        await self._database.write(partial(_join_family, session_id=session_id, values=values))

    async def delete(self, session_id: str, *, unless_unfinished: bool = False) -> None:
        """See `SessionStore.delete`."""
        await self._delete(session_id, partial(_delete, session_id=session_id, unless_unfinished=unless_unfinished))

    async def list_idle(self, before: datetime, limit: int = 100) -> Sequence[str]:
        """See `SessionStore.list_idle`."""
        return await self._database.read(partial(select_idle, before=before, limit=limit))

    async def delete_idle(self, session_id: str, before: datetime) -> bool:
        """See `SessionStore.delete_idle`."""
        return await self._delete(session_id, partial(_delete_idle, session_id=session_id, before=before))

    async def _delete(self, session_id: str, delete_rows: Callable[[Connection], Sequence[str] | None]) -> bool:
        """Delete with a function that returns which sessions were deleted besides; None if nothing was."""
        try:
            with_it = await self._database.write(delete_rows)
            for each in with_it or ():
                self.history_cache.invalidate(each)
        finally:
            self.history_cache.invalidate(session_id)
        if with_it is None:
            return False
        await purge_index(self._database, PURGE_STEPS)
        await self._database.clear_log()
        return True


def _append(
    connection: Connection, session_id: str, new: Sequence[SessionRecord], owner: str, fence: RunFence | None
) -> int:
    if fence is not None:
        check_fences(connection, [fence])
    return add_records(connection, session_id, new, owner)


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
    number, last_seq, has_title = _advance_seq(connection, session_id, len(new), sum(visible), owner, new[0].at)
    if not has_title:
        _suggest_title(connection, session_id, first_text_of_user(new))
    writer = text_writer or TextWriter(connection, session_id)
    if any(visible):
        owner = _owner_of(connection, session_id)
    _insert_records(connection, to_key(number, last_seq - len(new)), new, owner, writer)
    return last_seq


def _insert_records(
    connection: Connection, before: int, new: Sequence[SessionRecord], owner: str, writer: TextWriter
) -> None:
    """Insert numbered records after the key `before`, and their texts into the search index."""
    visible = [is_conversational(record) for record in new]
    keys = [before + record.seq for record in new]
    said = [
        IndexedText(key, record.message.content)
        for key, record, is_visible in zip(keys, new, visible, strict=True)
        if is_visible and record.message is not None
    ]
    if said:
        add_messages(connection, owner, said)
    rows = [
        {
            "key": key,
            "kind": record.kind,
            "run_id": record.run_id,
            "message": writer.encode(record.message.to_json()) if record.message else None,
            "data": writer.encode(record.data),
            "said": is_visible,
            "at": record.at,
        }
        for key, record, is_visible in zip(keys, new, visible, strict=True)
    ]
    _INSERT_RECORDS.execute_many(connection, rows)


def _add(connection: Connection, session: NewSession, new: Sequence[SessionRecord]) -> bool:
    if connection.execute(_SELECT_SESSION, {"which": session.id}).one_or_none() is not None:
        return False
    facts = {name: getattr(session, name) for name in ("id", "owner", "title", "created_at", "updated_at")}
    facts |= {name: getattr(session, name) for name in ("model", "planning", "pinned", "archived")}
    facts |= {"last_seq": len(new), "said": sum(map(is_conversational, new))}
    facts |= {"provisional_title": "" if session.title else provisional_title(first_text_of_user(new))}
    number = _insert_session(connection, facts)
    if new:
        _insert_records(connection, to_key(number, 0), new, session.owner, TextWriter(connection, session.id))
    return True


def create_session(connection: Connection, session_id: str, owner: str, now: datetime, text: str = "") -> None:
    """Create a session without records unless it exists; a message that comes gives it its provisional title."""
    found = _SELECT_POSITION.fetch_row(connection, {"which": session_id})
    if found is None:
        fresh = {"id": session_id, "owner": owner, "title": "", "last_seq": 0, "said": 0}
        fresh["provisional_title"] = provisional_title(text)
        _insert_session(connection, {**fresh, "created_at": now, "updated_at": now})
    elif not found[2]:
        _suggest_title(connection, session_id, text)


def _suggest_title(connection: Connection, session_id: str, text: str) -> None:
    beginning = provisional_title(text)
    if beginning:
        _SET_PROVISIONAL_TITLE.execute(connection, {"which": session_id, "beginning": beginning})


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


def _owner_of(connection: Connection, session_id: str) -> str:
    row = _SELECT_OWNER.fetch_record(connection, {"which": session_id})
    return "" if row is None else str(row[0])


def _last_seq(connection: Connection, session_id: str) -> int:
    session = connection.execute(_SELECT_SESSION, {"which": session_id}).one_or_none()
    return session.last_seq if session else 0


def _advance_seq(
    connection: Connection, session_id: str, more: int, more_said: int, owner: str, now: datetime | None
) -> tuple[int, int, bool]:
    """Advance the last seq, creating the session if needed; return its row number, the last seq, and whether it has a
    title or a provisional one.
    """
    facts = {"which": session_id, "more": more, "more_said": more_said, "now": now}
    _ADVANCE_SEQ.execute(connection, facts)
    grown = _SELECT_POSITION.fetch_row(connection, {"which": session_id})
    if grown is not None:
        return grown[0], grown[1], bool(grown[2])
    fresh = {"id": session_id, "owner": owner, "title": "", "last_seq": more, "said": more_said}
    fresh["provisional_title"] = ""
    return _insert_session(connection, {**fresh, "created_at": now, "updated_at": now}), more, False


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


def _turn(connection: Connection, session_id: str, run_id: str) -> list[SessionRecord]:
    session = _find(connection, session_id)
    own = belongs_to(records.c.key, session.number, 0, session.last_seq)
    query = select(records).where(own, records.c.run_id == run_id).order_by(records.c.key)
    texts = TextReader(connection, session_id)
    return [_to_record(row, texts) for row in connection.execute(query).mappings()]


def _join_family(connection: Connection, session_id: str, values: Mapping[str, Any]) -> None:
    session = _find(connection, session_id)
    remove_messages(connection, session.number, session_id, session.owner)
    _update(connection, session_id, values)
    copies = count_copies(_find(connection, session_id))
    add_messages(connection, session.owner, [*read_messages(connection, session.number, session_id, copies)])


def _list_family(connection: Connection, session_id: str) -> list[SessionSummary]:
    session = _find(connection, session_id)
    if session.family is None:
        return [summary_from_row(session)]
    is_own = (sessions.c.family == session.family) & (sessions.c.owner == session.owner)
    query = select(sessions).where(is_own).order_by(sessions.c.number)
    return [summary_from_row(row) for row in connection.execute(query)]


def _update_column(connection: Connection, session_id: str, column: str, value: str | None) -> None:
    _update(connection, session_id, {column: value})


def _update(connection: Connection, session_id: str, values: Mapping[str, object]) -> None:
    changed = connection.execute(update(sessions).where(_BY_ID).values(values), {"which": session_id})
    if not changed.rowcount:
        raise session_not_found_error(connection, session_id)


def _change_owner(connection: Connection, session_id: str, owner: str) -> None:
    session = _find(connection, session_id)
    remove_messages(connection, session.number, session_id, session.owner)
    _update_column(connection, session_id, "owner", owner)
    add_messages(connection, owner, [*read_messages(connection, session.number, session_id, count_copies(session))])
    change_session_attachments_owner(connection, session_id, owner)


def _rename(connection: Connection, session_id: str, title: str) -> None:
    branches = [each.id for each in _list_family(connection, session_id)]
    connection.execute(update(sessions).where(sessions.c.id.in_(branches)).values(title=title))


def _mark(connection: Connection, session_id: str, pinned: bool | None, archived: bool | None) -> None:
    branches = [each.id for each in _list_family(connection, session_id)]
    wanted = {"pinned": pinned, "archived": archived}
    values = {name: value for name, value in wanted.items() if value is not None}
    if values:
        connection.execute(update(sessions).where(sessions.c.id.in_(branches)).values(values))


def copy_session(
    connection: Connection, session_id: str, new_id: str, upto: int | None, now: datetime, *, branch: bool
) -> None:
    """Do what `SessionStore.fork` does within a transaction."""
    source = _find(connection, session_id)
    check_fork_position(upto, branch=branch)
    if connection.execute(_SELECT_SESSION, {"which": new_id}).one_or_none() is not None:
        raise InputError(f"session {new_id!r} exists already; choose another id")
    last_seq = source.last_seq if upto is None else min(upto, source.last_seq)
    kept = belongs_to(records.c.key, source.number, up_to=last_seq)
    said = connection.execute(select(func.count()).where(kept, records.c.said)).scalar_one()
    same = {"owner": source.owner, "title": source.title, "model": source.model, "planning": source.planning}
    same["provisional_title"] = source.provisional_title
    facts = {"id": new_id, "last_seq": last_seq, "said": said, "created_at": now, "updated_at": now}
    origin = {"forked_from": source.id, "forked_at": last_seq}
    if branch:
        origin |= {"family": source.family or source.id, "pinned": source.pinned, "archived": source.archived}
        if source.family is None:
            _update(connection, session_id, {"family": source.id})
    number = _insert_session(connection, same | facts | origin)
    if not branch:
        copy_messages(connection, source.number, source.id, source.owner, number, last_seq)
    copied = [column for column in records.c if column is not records.c.key]
    distance = literal(to_key(number, 0) - to_key(source.number, 0), BigInteger())
    log = select(records.c.key + distance, *copied).where(kept)
    connection.execute(insert(records).from_select(["key", *(column.name for column in copied)], log))
    copy_texts(connection, source.number, number)
    copy_session_label(connection, session_id, new_id)
    copy_session_attachments(connection, source.number, number)


def _delete(connection: Connection, session_id: str, *, unless_unfinished: bool) -> Sequence[str]:
    """Delete a session with its branches, and the sessions in which their goals work; return the ids of the others."""
    branches = [each.id for each in _list_family(connection, session_id)]
    found = [each for branch in branches for each in delete_session_goals(connection, branch)]
    goal_sessions = [each for each in found if connection.execute(_SELECT_SESSION, {"which": each}).one_or_none()]
    with_it = [each for each in dict.fromkeys([*branches, *goal_sessions]) if each != session_id]
    for each in (session_id, *with_it) if unless_unfinished else ():
        if connection.execute(_SELECT_UNFINISHED, {"which": each}).first() is not None:
            raise session_busy(each)
    _delete_one(connection, session_id)
    for each in with_it:
        _delete_one(connection, each)
    return with_it


def _delete_idle(connection: Connection, session_id: str, before: datetime) -> Sequence[str] | None:
    return _delete(connection, session_id, unless_unfinished=False) if is_idle(connection, session_id, before) else None


def _delete_one(connection: Connection, session_id: str) -> None:
    own_copies = sessions.c.forked_from == session_id
    connection.execute(update(sessions).where(own_copies).values(forked_from=None, forked_at=None))
    blank_session_texts(connection, session_id)
    delete_session_label(connection, session_id)
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
    remove_messages(connection, session.number, session_id, session.owner)
    delete_session_attachments(connection, session.number)
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
