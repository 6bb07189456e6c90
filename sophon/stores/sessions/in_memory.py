"""In-memory session store. The message list and the newest compaction are updated on each append."""

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field
from datetime import datetime

from sophon.clock import Clock
from sophon.errors import InputError
from sophon.lazy_dataclass import dataclass
from sophon.messages import Message
from sophon.slotted_dataclass import new_dict, new_list
from sophon.stores.sessions.contract import Compaction, History, SessionPage, SessionRecord, SessionSummary
from sophon.stores.sessions.paging import decode_cursor, encode_cursor, matches_words, split_words
from sophon.stores.sessions.records import (
    assign_seqs,
    check_fork_position,
    compaction_from_record,
    copy_record,
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
    message_count: int = 0
    compaction: Compaction | None = None
    log: list[SessionRecord] = field(default_factory=new_list)
    messages: list[Message] = field(default_factory=new_list)
    known: dict[str, tuple[int, int]] = field(default_factory=new_dict)

    def extend(self, records: Sequence[SessionRecord]) -> None:
        """Append the store's own copies of records; the cost depends on the new ones only."""
        self.log += records
        for record in records:
            if record.kind == "message" and record.message is not None:
                self.messages.append(record.message)
                self.message_count += is_conversational(record)
            else:
                self.compaction = compaction_from_record(record) or self.compaction


class InMemorySessionStore:
    """The sessions of an `InMemoryStore`; see `SessionStore`."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._sessions: dict[str, _Session] = {}
        self._numbers = itertools.count()
        self._delete_callbacks: list[Callable[[str], None]] = []
        self._fork_callbacks: list[Callable[[str, str], None]] = []

    async def load_history(self, session_id: str) -> History:
        """See `SessionStore.load_history`. Makes one shallow copy of the message list."""
        session = self._sessions.get(session_id)
        if session is None:
            return History([])
        return History(session.messages.copy(), session.compaction, session.model, session.known)

    async def append(self, session_id: str, records: Sequence[SessionRecord], *, owner: str = "") -> int:
        """See `SessionStore.append`."""
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

    async def list(self, owner: str | None = None) -> list[SessionSummary]:
        """See `SessionStore.list`."""
        found = [(name, each) for name, each in self._sessions.items() if owner is None or each.owner == owner]
        found.sort(key=lambda item: (item[1].updated_at, item[1].number), reverse=True)
        return [_summary(name, session) for name, session in found]

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
        words, first = split_words(search), max(offset, 0)
        found = [each for each in await self.list(owner) if matches_words(words, each.title, each.id)]
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
        self._get(session_id).title = title

    async def set_model(self, session_id: str, model: str | None) -> None:
        """See `SessionStore.set_model`."""
        self._get(session_id).model = model

    async def change_owner(self, session_id: str, owner: str) -> None:
        """See `SessionStore.change_owner`."""
        self._get(session_id).owner = owner

    async def fork(self, session_id: str, new_id: str, *, upto: int | None = None) -> None:
        """See `SessionStore.fork`."""
        source = self._get(session_id)
        check_fork_position(upto)
        if new_id in self._sessions:
            raise InputError(f"session {new_id!r} exists already; choose another id")
        now = self._clock.now()
        fork = _Session(next(self._numbers), source.owner, now, now, title=source.title, model=source.model)
        fork.extend([copy_record(record) for record in source.log if upto is None or record.seq <= upto])
        self._sessions[new_id] = fork
        for callback in self._fork_callbacks:
            callback(session_id, new_id)

    async def delete(self, session_id: str) -> None:
        """See `SessionStore.delete`."""
        self.remove(session_id)

    def remove(self, session_id: str) -> None:
        """Delete a session, and what is deleted with it. Raises NotFound."""
        self._get(session_id)
        del self._sessions[session_id]
        for forget in self._delete_callbacks:
            forget(session_id)

    def on_fork(self, callback: Callable[[str, str], None]) -> None:
        """Register a callback that gets the ids of each forked session and of the fork."""
        self._fork_callbacks.append(callback)

    def on_delete(self, callback: Callable[[str], None]) -> None:
        """Register a callback that gets the id of each deleted session, for data that is deleted with it."""
        self._delete_callbacks.append(callback)

    def __contains__(self, session_id: str) -> bool:
        return session_id in self._sessions

    def __iter__(self) -> Iterator[str]:
        return iter(self._sessions)

    def _get(self, session_id: str) -> _Session:
        session = self._sessions.get(session_id)
        if session is None:
            raise session_not_found(session_id, self._sessions)
        return session


def _summary(session_id: str, session: _Session) -> SessionSummary:
    return SessionSummary(
        session_id,
        session.title,
        session.owner,
        session.message_count,
        session.created_at,
        session.updated_at,
        session.model,
    )
