"""The store of a chain in one's own process: dictionaries for what most turns use, SQLite in memory for the rest."""

from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from sophon.clock import Clock, SystemClock
from sophon.stores.contract import Store
from sophon.stores.data_labels.in_memory import InMemoryDataLabelStore
from sophon.stores.factory import MEMORY_SCHEME, store_from_url
from sophon.stores.grants.in_memory import InMemoryGrantStore
from sophon.stores.health import StoreHealth
from sophon.stores.memories.in_memory import InMemoryMemoryStore
from sophon.stores.preferences.in_memory import InMemoryPreferenceStore
from sophon.stores.rate_windows.in_memory import InMemoryRateWindowStore
from sophon.stores.sessions.contract import SessionStore
from sophon.stores.sessions.in_memory import InMemorySessionStore
from sophon.stores.tool_call_journal.in_memory import InMemoryJournal
from sophon.stores.usage.in_memory import InMemoryUsageStore
from sophon.stores.vectors.in_memory import InMemoryVectorStore

if TYPE_CHECKING:
    from sophon.attachments import Attachment
    from sophon.stores.attachments.sql import AttachmentStore
    from sophon.stores.attachments.stored_attachment import StoredAttachment


class InMemoryStore(Store):
    """Store of a program that runs turns and is no host. `clock` dates what is written; default: the system clock.

    What most turns use is in dictionaries: a turn then costs a third of what it costs over SQLite, and no SQLAlchemy is
    loaded. The first use of anything else makes an `SqlStore` in memory, which keeps that. A session that is deleted
    here is deleted there. A host needs a store in SQL, whose runs refer to its sessions.

    It belongs to one event loop: no method awaits anything, so each is atomic without a lock. Closing it deletes
    nothing.
    """

    in_memory = True

    def __init__(self, *, clock: Clock | None = None) -> None:
        clock = self._clock = clock or SystemClock()
        self.health = StoreHealth(MEMORY_SCHEME)
        self.sessions = InMemorySessionStore(
            clock, fork_elsewhere=self._fork_session, delete_elsewhere=self._delete_session
        )
        self.usage = InMemoryUsageStore()
        self.journal = InMemoryJournal()
        self.grants = InMemoryGrantStore()
        self.preferences = InMemoryPreferenceStore()
        self.data_labels = InMemoryDataLabelStore()
        self.vectors = InMemoryVectorStore()
        self.rate_windows = InMemoryRateWindowStore(clock)
        self.memories = InMemoryMemoryStore(clock, self.vectors)
        self.attachments = cast("AttachmentStore", _SessionAttachments(self.sessions, lambda: self._others))
        for each in (self.usage, self.grants, self.data_labels, self.vectors, self.memories):
            self.sessions.on_delete(each.forget_session)
        self.sessions.on_fork(self.data_labels.copy_session)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in Store.__annotations__:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(self._others, name)

    @cached_property
    def _others(self) -> Store:
        return store_from_url(MEMORY_SCHEME, folder=Path(), clock=self._clock)

    async def _fork_session(self, session_id: str, new_id: str) -> None:
        if "_others" in self.__dict__ and await self._others.sessions.find(session_id) is not None:
            await self._others.sessions.fork(session_id, new_id)

    async def _delete_session(self, session_id: str) -> None:
        if "_others" in self.__dict__:
            await self._others.sessions.get_or_create(session_id)
            await self._others.sessions.delete(session_id)

    async def open(self) -> None:
        """Do nothing: there is nothing to connect to."""

    async def close(self) -> None:
        """Do nothing: there is nothing to release."""


class _SessionAttachments:
    """Attachments in a store that has no other part of their sessions."""

    def __init__(self, sessions: SessionStore, others: Callable[[], Store]) -> None:
        self._sessions, self._others = sessions, others

    async def add(
        self, attachment: "Attachment", content: bytes, *, session_id: str | None = None, **named: Any
    ) -> "StoredAttachment":
        if session_id is not None:
            await self._others().sessions.get_or_create(session_id, (await self._sessions.get(session_id)).owner)
        return await self._others().attachments.add(attachment, content, session_id=session_id, **named)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._others().attachments, name)
