"""In-memory session store. The message list and the newest compaction are updated on each append."""

import itertools
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import field
from datetime import datetime

from sophon._python.lazy_dataclass import dataclass, new_dict, new_list
from sophon.clock import Clock
from sophon.errors import InputError
from sophon.messages import Compaction, Message
from sophon.stores.run_fence import RunFence, StaleRun
from sophon.stores.sessions.contract import (
    SUMMARY_FIELDS,
    History,
    NewSession,
    SessionKind,
    SessionPage,
    SessionRecord,
    SessionSummary,
    SessionTotals,
)
from sophon.stores.sessions.paging import decode_cursor, encode_cursor, matches_words, split_words
from sophon.stores.sessions.provisional_title import provisional_title
from sophon.stores.sessions.record_rules import (
    assign_seqs,
    check_fork_position,
    compaction_from_record,
    copy_record,
    first_text_of_user,
    is_conversational,
    session_not_found,
    take_up_to_bytes,
)


@dataclass(slots=True)
class _Session:
    number: int
    owner: str
    created_at: datetime
    updated_at: datetime
    title: str = ""
    model: str | None = None
    planning: str | None = None
    forked_from: str | None = None
    forked_at: int | None = None
    family: str | None = None
    provisional_title: str = ""
    pinned: bool = False
    archived: bool = False
    message_count: int = 0
    compaction: Compaction | None = None
    log: list[SessionRecord] = field(default_factory=new_list)
    messages: list[Message] = field(default_factory=new_list)
    known: dict[str, tuple[int, int]] = field(default_factory=new_dict)

    def extend(self, records: Sequence[SessionRecord]) -> None:
        """Append the store's own copies of records; the cost depends on the new ones only."""
        self.log += records
        self.suggest_title(first_text_of_user(records))
        for record in records:
            if record.kind == "message" and record.message is not None:
                self.messages.append(record.message)
                self.message_count += is_conversational(record)
            else:
                self.compaction = compaction_from_record(record) or self.compaction

    def suggest_title(self, text: str) -> None:
        """Set the provisional title unless there is a title, or a provisional one."""
        if not self.title and not self.provisional_title:
            self.provisional_title = provisional_title(text)


async def _do_nothing(*_: str) -> None:
    """Do nothing."""


class InMemorySessionStore:
    """The sessions of an `InMemoryStore`; see `SessionStore`.

    `fork_elsewhere` is awaited with the ids of a session and its fork, and `delete_elsewhere` with that of a deleted
    one, for data in another store.
    """

    def __init__(
        self,
        clock: Clock,
        fork_elsewhere: Callable[[str, str], Awaitable[None]] = _do_nothing,
        delete_elsewhere: Callable[[str], Awaitable[None]] = _do_nothing,
    ) -> None:
        self._clock = clock
        self._sessions: dict[str, _Session] = {}
        self._numbers = itertools.count()
        self._delete_callbacks: list[Callable[[str], None]] = []
        self._fork_callbacks: list[Callable[[str, str], None]] = []
        self._fork_elsewhere, self._delete_elsewhere = fork_elsewhere, delete_elsewhere

    async def load_history(self, session_id: str) -> History:
        """See `SessionStore.load_history`. Makes one shallow copy of the message list."""
        session = self._sessions.get(session_id)
        if session is None:
            return History([])
        return History(
            session.messages.copy(), session.compaction, session.model, session.known, planning=session.planning
        )

    async def append(
        self, session_id: str, records: Sequence[SessionRecord], *, owner: str = "", fence: RunFence | None = None
    ) -> int:
        """See `SessionStore.append`."""
        if fence is not None:  # there are no runs
            raise StaleRun(fence.run_id, fence.start)
        session = self._sessions.get(session_id)
        last_seq = len(session.log) if session else 0
        if not records:
            return last_seq
        now = self._clock.now()
        new = assign_seqs(records, last_seq, now)
        if session is None:
            session = self._sessions[session_id] = _Session(next(self._numbers), owner, now, now)
        session.extend(new)
        session.updated_at = now
        return last_seq + len(new)

    async def get_or_create(self, session_id: str, owner: str = "") -> SessionSummary:
        """See `SessionStore.get_or_create`."""
        session = self._sessions.get(session_id)
        if session is None:
            now = self._clock.now()
            session = self._sessions[session_id] = _Session(next(self._numbers), owner, now, now)
        return _summary(session_id, session)

    async def add(self, session: NewSession) -> bool:
        """See `SessionStore.add`."""
        if session.id in self._sessions:
            return False
        records = assign_seqs(session.records, 0, session.updated_at, keeps_times=True)
        new = _Session(next(self._numbers), session.owner, session.created_at, session.updated_at, title=session.title)
        new.model, new.planning = session.model, session.planning
        new.pinned, new.archived = session.pinned, session.archived
        new.extend(records)
        self._sessions[session.id] = new
        return True

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
        log = self._get(session_id).log
        selected = log[max(after, 0) : None if before is None else max(before - 1, 0)]
        ordered = selected if before is None else selected[::-1]
        page = list(take_up_to_bytes(ordered[: None if limit is None else max(limit, 0)], max_bytes))
        return [copy_record(record) for record in (page if before is None else page[::-1])]

    async def list_turn(self, session_id: str, run_id: str) -> list[SessionRecord]:
        """See `SessionStore.list_turn`."""
        return [copy_record(record) for record in self._get(session_id).log if record.run_id == run_id]

    async def list_family(self, session_id: str) -> Sequence[SessionSummary]:
        """See `SessionStore.list_family`."""
        members = [(name, self._sessions[name]) for name in self._list_branches(session_id)]
        return [_summary(name, each) for name, each in sorted(members, key=lambda member: member[1].number)]

    async def list(self, owner: str | None = None) -> list[SessionSummary]:
        """See `SessionStore.list`."""
        found = [(name, each) for name, each in self._sessions.items() if owner is None or each.owner == owner]
        found.sort(key=lambda item: (item[1].updated_at, item[1].number), reverse=True)
        return [_summary(name, session) for name, session in found]

    async def count(self, owner: str) -> SessionTotals:
        """See `SessionStore.count`."""
        found = [len(each.log) for each in self._sessions.values() if each.owner == owner]
        return SessionTotals(len(found), sum(found))

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
        words, first = split_words(search), max(offset, 0)
        listed = self._leave_out_older_branches(await self.list(owner))
        of_kind = [each for each in listed if kind is None or each.archived == (kind == "archived")]
        of_kind = [each for each in of_kind if kind != "pinned" or each.pinned]
        found = [each for each in of_kind if matches_words(words, each.shown_title, each.id)]
        following = found if cursor is None else self._after(found, *decode_cursor(cursor))
        page = following[first : first + max(limit, 0)]
        more = bool(page) and len(following) > first + len(page)
        return SessionPage(page, len(found), encode_cursor(page[-1].updated_at, page[-1].id) if more else None)

    def _after(
        self, found: Sequence[SessionSummary], updated_at: datetime, session_id: str
    ) -> Sequence[SessionSummary]:
        last = self._sessions.get(session_id)
        number = last.number if last is not None else float("inf")
        return [each for each in found if (each.updated_at, self._sessions[each.id].number) < (updated_at, number)]

    async def get(self, session_id: str) -> SessionSummary:
        """See `SessionStore.get`."""
        return _summary(session_id, self._get(session_id))

    async def find(self, session_id: str) -> SessionSummary | None:
        """See `SessionStore.find`."""
        session = self._sessions.get(session_id)
        return None if session is None else _summary(session_id, session)

    async def rename(self, session_id: str, title: str) -> None:
        """See `SessionStore.rename`."""
        for name in self._list_branches(session_id):
            self._sessions[name].title = title

    async def mark(self, session_id: str, *, pinned: bool | None = None, archived: bool | None = None) -> None:
        """See `SessionStore.mark`."""
        for each in [self._sessions[name] for name in self._list_branches(session_id)]:
            each.pinned = each.pinned if pinned is None else pinned
            each.archived = each.archived if archived is None else archived

    async def set_model(self, session_id: str, model: str | None) -> None:
        """See `SessionStore.set_model`."""
        self._get(session_id).model = model

    async def set_planning(self, session_id: str, planning: str | None) -> None:
        """See `SessionStore.set_planning`."""
        self._get(session_id).planning = planning

    async def fork(self, session_id: str, new_id: str, *, upto: int | None = None, branch: bool = False) -> None:
        """See `SessionStore.fork`."""
        source = self._get(session_id)
        check_fork_position(upto, branch=branch)
        if new_id in self._sessions:
            raise InputError(f"session {new_id!r} exists already; choose another id")
        now = self._clock.now()
        fork = _Session(next(self._numbers), source.owner, now, now, title=source.title, model=source.model)
        fork.planning, fork.provisional_title = source.planning, source.provisional_title
        fork.extend([copy_record(record) for record in source.log if upto is None or record.seq <= upto])
        fork.forked_from, fork.forked_at = session_id, len(fork.log)
        if branch:
            fork.family = source.family = source.family or session_id
            fork.pinned, fork.archived = source.pinned, source.archived
        self._sessions[new_id] = fork
        for callback in self._fork_callbacks:
            callback(session_id, new_id)
        await self._fork_elsewhere(session_id, new_id)

    async def join_family(self, session_id: str, family: str, forked_from: str | None, forked_at: int | None) -> None:
        """See `SessionStore.join_family`."""
        session = self._get(session_id)
        session.family, session.forked_from, session.forked_at = family, forked_from, forked_at

    async def delete(self, session_id: str, *, unless_unfinished: bool = False) -> None:
        """See `SessionStore.delete`."""
        for each in self._list_branches(session_id):
            del self._sessions[each]
            for copy in self._sessions.values():
                if copy.forked_from == each:
                    copy.forked_from = copy.forked_at = None
            for forget in self._delete_callbacks:
                forget(each)
            await self._delete_elsewhere(each)

    async def list_idle(self, before: datetime, limit: int = 100) -> Sequence[str]:
        """See `SessionStore.list_idle`."""
        oldest = sorted(self._sessions.items(), key=lambda pair: (pair[1].updated_at, pair[1].number))
        return [session_id for session_id, _ in oldest if self._is_idle(session_id, before)][: max(limit, 0)]

    async def delete_idle(self, session_id: str, before: datetime) -> bool:
        """See `SessionStore.delete_idle`."""
        is_idle = self._is_idle(session_id, before)
        if is_idle:
            await self.delete(session_id)
        return is_idle

    def _is_idle(self, session_id: str, before: datetime) -> bool:
        if session_id not in self._sessions:
            return False
        return all(self._sessions[each].updated_at < before for each in self._list_branches(session_id))

    def _list_branches(self, session_id: str) -> Sequence[str]:
        """Return the ids of the sessions of the same conversation, that of the session among them. Raises NotFound."""
        session = self._get(session_id)
        if session.family is None:
            return [session_id]
        key = (session.family, session.owner)
        return [name for name, each in self._sessions.items() if (each.family, each.owner) == key]

    def _leave_out_older_branches(self, newest_first: Sequence[SessionSummary]) -> Sequence[SessionSummary]:
        """Return the sessions without those of a family that another one was changed after."""
        newest = {(each.family, each.owner): each.id for each in reversed(newest_first)}
        return [each for each in newest_first if each.family is None or newest[each.family, each.owner] == each.id]

    def on_fork(self, callback: Callable[[str, str], None]) -> None:
        """Register a callback that gets the ids of each forked session and of the fork."""
        self._fork_callbacks.append(callback)

    def on_delete(self, callback: Callable[[str], None]) -> None:
        """Register a callback that gets the id of each deleted session, for data that is deleted with it."""
        self._delete_callbacks.append(callback)

    def _get(self, session_id: str) -> _Session:
        session = self._sessions.get(session_id)
        if session is None:
            raise session_not_found(session_id, self._sessions)
        return session


def _summary(session_id: str, session: _Session) -> SessionSummary:
    facts = {name: getattr(session, name) for name in SUMMARY_FIELDS}
    return SessionSummary(id=session_id, message_count=session.message_count, **facts)
