"""SQL session store: a row per session, and a row per record."""

from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial

from sqlalchemy import (
    ColumnElement,
    Connection,
    FromClause,
    and_,
    delete,
    exists,
    func,
    not_,
    or_,
    select,
    update,
)

from sophon.clock import Clock
from sophon.stores.attachments.sql import delete_session_attachments
from sophon.stores.audit.sql import blank_session_texts
from sophon.stores.data_labels.sql import delete_session_label
from sophon.stores.grants.sql import delete_session_grants
from sophon.stores.memories.sql import delete_session_memories
from sophon.stores.message_search.sql_index import (
    PURGE_STEPS,
    purge_index,
    remove_messages,
)
from sophon.stores.run_fence import RunFence
from sophon.stores.sessions.contract import (
    History,
    NewSession,
    SessionKind,
    SessionPage,
    SessionRecord,
    SessionSummary,
    SessionTotals,
)
from sophon.stores.sessions.history_cache import HistoryCache
from sophon.stores.sessions.paging import decode_cursor, split_words
from sophon.stores.sessions.provisional_title import provisional_title
from sophon.stores.sessions.record_rules import assign_seqs, first_text_of_user, is_conversational, session_busy
from sophon.stores.sessions.sql_branches import copy_session, join_family, list_family
from sophon.stores.sessions.sql_history import load_history
from sophon.stores.sessions.sql_paging import NEWEST_FIRST, select_page, summary_from_row
from sophon.stores.sessions.sql_rows import (
    BY_ID,
    SELECT_SESSION,
    add_records,
    create_session,
    find_row,
    find_session,
    insert_records,
    insert_session,
    read_records,
    read_turn,
    select_last_seq,
    update_session,
)
from sophon.stores.sql.column_types import belongs_to, to_key
from sophon.stores.sql.database import Database
from sophon.stores.sql.repository import Repository
from sophon.stores.sql.schema import (
    attempts,
    feedback,
    records,
    sessions,
    sub_agents,
    trajectories,
    turn_traces,
    vectors,
)
from sophon.stores.sql.store_part import StorePart
from sophon.stores.texts.sql import TextWriter


class SqlSessionStore(Repository):
    """The sessions of an `SqlStore`; see `SessionStore`."""

    def __init__(
        self,
        database: Database,
        clock: Clock,
        history_cache: HistoryCache | None = None,
        parts: Sequence[type[StorePart]] = (),
    ) -> None:
        super().__init__(database, clock)
        self.history_cache = history_cache or HistoryCache()
        self._parts = parts

    async def load_history(self, session_id: str) -> History:
        """See `SessionStore.load_history`. Reads what was appended since the last load; see `HistoryCache`."""
        return await load_history(self._database, self.history_cache, session_id)

    async def append(
        self, session_id: str, records: Sequence[SessionRecord], *, owner: str = "", fence: RunFence | None = None
    ) -> int:
        """See `SessionStore.append`."""
        if not records:
            return await self._database.read(partial(select_last_seq, session_id=session_id))
        new = assign_seqs(records, 0, self._clock.now())
        fence = fence or self._database.fence
        fences = [fence] if fence is not None else []
        return await self._database.write(
            partial(_append, self._parts, session_id=session_id, new=new, owner=owner, fences=fences)
        )

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
            partial(read_records, session_id=session_id, after=after, before=before, limit=limit, max_bytes=max_bytes)
        )

    async def list_turn(self, session_id: str, run_id: str) -> list[SessionRecord]:
        """See `SessionStore.list_turn`."""
        return await self._database.read(partial(read_turn, session_id=session_id, run_id=run_id))

    async def list_family(self, session_id: str) -> Sequence[SessionSummary]:
        """See `SessionStore.list_family`."""
        return await self._database.read(partial(list_family, session_id=session_id))

    async def list(self, owner: str | None = None) -> list[SessionSummary]:
        """See `SessionStore.list`."""
        query = select(sessions).order_by(*NEWEST_FIRST)
        wanted = query if owner is None else query.where(sessions.c.owner == owner)
        return await self._database.read(
            lambda connection: [summary_from_row(row) for row in connection.execute(wanted)]
        )

    async def count(self, owner: str) -> SessionTotals:
        """See `SessionStore.count`."""
        query = select(func.count(), func.coalesce(func.sum(sessions.c.last_seq), 0)).where(sessions.c.owner == owner)
        return await self._database.read(
            lambda connection: SessionTotals(*(int(each) for each in connection.execute(query).one()))
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
        return await self._database.read(lambda connection: summary_from_row(find_row(connection, session_id)))

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

    async def fork(self, session_id: str, new_id: str, *, upto: int | None = None, branch: bool = False) -> None:
        """See `SessionStore.fork`."""
        now = self._clock.now()
        await self._database.write(
            partial(copy_session, session_id=session_id, new_id=new_id, upto=upto, now=now, branch=branch)
        )

    async def join_family(self, session_id: str, family: str, forked_from: str | None, forked_at: int | None) -> None:
        """See `SessionStore.join_family`."""
        values = {"family": family, "forked_from": forked_from, "forked_at": forked_at}
        await self._database.write(partial(join_family, session_id=session_id, values=values))

    async def delete(self, session_id: str, *, unless_unfinished: bool = False) -> None:
        """See `SessionStore.delete`."""
        await self._delete(
            session_id,
            partial(_delete_session, self._parts, session_id=session_id, unless_unfinished=unless_unfinished),
        )

    async def list_idle(self, before: datetime, limit: int = 100) -> Sequence[str]:
        """See `SessionStore.list_idle`."""
        return await self._database.read(partial(_select_idle, self._parts, before=before, limit=limit))

    async def delete_idle(self, session_id: str, before: datetime) -> bool:
        """See `SessionStore.delete_idle`."""
        return await self._delete(
            session_id, partial(_delete_idle_session, self._parts, session_id=session_id, before=before)
        )

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
    parts: Sequence[type[StorePart]],
    connection: Connection,
    session_id: str,
    new: Sequence[SessionRecord],
    owner: str,
    fences: Sequence[RunFence],
) -> int:
    for part in parts if fences else ():
        part.check_fences(connection, fences)
    return add_records(connection, session_id, new, owner)


def _add(connection: Connection, session: NewSession, new: Sequence[SessionRecord]) -> bool:
    if connection.execute(SELECT_SESSION, {"which": session.id}).one_or_none() is not None:
        return False
    facts = {name: getattr(session, name) for name in ("id", "owner", "title", "created_at", "updated_at")}
    facts |= {name: getattr(session, name) for name in ("model", "planning", "pinned", "archived")}
    facts |= {"last_seq": len(new), "said": sum(map(is_conversational, new))}
    facts |= {"provisional_title": "" if session.title else provisional_title(first_text_of_user(new))}
    number = insert_session(connection, facts)
    if new:
        insert_records(connection, to_key(number, 0), new, session.owner, TextWriter(connection, session.id))
    return True


def _ensure(connection: Connection, session_id: str, owner: str, now: datetime) -> SessionSummary:
    create_session(connection, session_id, owner, now)
    return summary_from_row(find_row(connection, session_id))


def _update_column(connection: Connection, session_id: str, column: str, value: str | None) -> None:
    update_session(connection, session_id, {column: value})


def _rename(connection: Connection, session_id: str, title: str) -> None:
    branches = [each.id for each in list_family(connection, session_id)]
    connection.execute(update(sessions).where(sessions.c.id.in_(branches)).values(title=title))


def _mark(connection: Connection, session_id: str, pinned: bool | None, archived: bool | None) -> None:
    branches = [each.id for each in list_family(connection, session_id)]
    wanted = {"pinned": pinned, "archived": archived}
    values = {name: value for name, value in wanted.items() if value is not None}
    if values:
        connection.execute(update(sessions).where(sessions.c.id.in_(branches)).values(values))


def _delete_session(
    parts: Sequence[type[StorePart]], connection: Connection, session_id: str, *, unless_unfinished: bool
) -> Sequence[str]:
    """Delete a session with its branches, and the sessions that their work has used; return the ids of the others."""
    branches = [each.id for each in list_family(connection, session_id)]
    found = [each for branch in branches for part in parts for each in part.delete_linked(connection, branch)]
    linked = [each for each in found if connection.execute(SELECT_SESSION, {"which": each}).one_or_none()]
    with_it = [each for each in dict.fromkeys([*branches, *linked]) if each != session_id]
    for each in (session_id, *with_it) if unless_unfinished else ():
        if any(part.has_unfinished_work(connection, each) for part in parts):
            raise session_busy(each)
    for each in (session_id, *with_it):
        _delete_one(parts, connection, each)
    return with_it


def _delete_idle_session(
    parts: Sequence[type[StorePart]], connection: Connection, session_id: str, before: datetime
) -> Sequence[str] | None:
    """Do the same to a session that is idle since a time; None, deleting nothing, for any other."""
    is_idle = select(sessions.c.id).where(sessions.c.id == session_id, _is_idle(parts, before))
    if connection.execute(is_idle).one_or_none() is None:
        return None
    return _delete_session(parts, connection, session_id, unless_unfinished=False)


def _delete_one(parts: Sequence[type[StorePart]], connection: Connection, session_id: str) -> None:
    own_copies = sessions.c.forked_from == session_id
    connection.execute(update(sessions).where(own_copies).values(forked_from=None, forked_at=None))
    blank_session_texts(connection, session_id)
    delete_session_label(connection, session_id)
    delete_session_grants(connection, session_id)
    for table in (trajectories, feedback, sub_agents, turn_traces, vectors):
        connection.execute(delete(table).where(table.c.session_id == session_id))
    delete_session_memories(connection, session_id)
    # What was spent stays in the totals, but is nothing of the next session of that id.
    connection.execute(update(attempts).where(attempts.c.session_id == session_id).values(session_id=""))
    session = find_row(connection, session_id)
    remove_messages(connection, session.number, session_id, session.owner)
    delete_session_attachments(connection, session.number)
    for part in parts:
        part.delete_session(connection, session_id)
    connection.execute(delete(records).where(belongs_to(records.c.key, session.number)))
    # Foreign keys cascade to the other tables.
    connection.execute(delete(sessions).where(BY_ID), {"which": session_id})


def _select_idle(parts: Sequence[type[StorePart]], connection: Connection, before: datetime, limit: int) -> list[str]:
    """Return the ids of idle sessions, the oldest first."""
    query = select(sessions.c.id).where(_is_idle(parts, before)).order_by(sessions.c.updated_at, sessions.c.number)
    return list(connection.execute(query.limit(max(limit, 0))).scalars())


def _is_idle(parts: Sequence[type[StorePart]], before: datetime) -> ColumnElement[bool]:
    """Return the condition for a session that is idle with all its branches."""
    branch = sessions.alias()
    is_branch = (branch.c.family == sessions.c.family) & (branch.c.owner == sessions.c.owner)
    is_branch_used = exists().where(is_branch, not_(_is_row_idle(parts, branch, before)))
    return and_(_is_row_idle(parts, sessions, before), or_(sessions.c.family.is_(None), not_(is_branch_used)))


def _is_row_idle(parts: Sequence[type[StorePart]], rows: FromClause, before: datetime) -> ColumnElement[bool]:
    return and_(rows.c.updated_at < before, *(not_(each) for part in parts for each in part.find_uses(rows)))
