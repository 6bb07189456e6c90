"""SQL store of a host: the store of a chain, with the repositories of the host and of its features."""

from pathlib import Path
from typing import Self

from sophon.clock import Clock
from sophon.stores.memories.contract import MemoryStore
from sophon.stores.preferences.contract import PreferenceStore
from sophon.stores.sql.database import Database
from sophon.stores.sql_store import LOCK_TIMEOUT_SECONDS, SqlStore
from sophon.stores.usage.contract import UsageStore
from sophon_hosting.store.api_tokens.sql import ApiTokenStore
from sophon_hosting.store.approvals.sql import ApprovalStore
from sophon_hosting.store.channel_state.sql import ChannelStateStore
from sophon_hosting.store.contract import HostStore
from sophon_hosting.store.events.sql import EventLog
from sophon_hosting.store.feature_parts import load_feature_parts
from sophon_hosting.store.message_search.sql import MessageSearch
from sophon_hosting.store.outbox.sql import Outbox
from sophon_hosting.store.person_deletion import PersonStore
from sophon_hosting.store.runs.sql import SqlRunStore

HOST_PARTS = (SqlRunStore, EventLog, ApprovalStore, Outbox, ApiTokenStore)
"""Repositories that every host has."""


class SqlHostStore(SqlStore, HostStore):
    """A host's store in SQLite, PostgreSQL or memory; see `SqlStore` for the arguments and the errors.

    One that a chain has made is extended by the tables of the host when it is opened.
    """

    def __init__(
        self,
        url: str,
        *,
        folder: Path | None = None,
        clock: Clock | None = None,
        lock_timeout_seconds: float = LOCK_TIMEOUT_SECONDS,
        usage: UsageStore | None = None,
        memories: MemoryStore | None = None,
        preferences: PreferenceStore | None = None,
        extends: SqlStore | None = None,
        database: Database | None = None,
    ) -> None:
        super().__init__(
            url,
            folder=folder,
            clock=clock,
            lock_timeout_seconds=lock_timeout_seconds,
            usage=usage,
            memories=memories,
            preferences=preferences,
            parts=(*HOST_PARTS, *load_feature_parts()),
            extends=extends,
            database=database,
        )
        self.api_tokens = self.part(ApiTokenStore)
        self.approvals = self.part(ApprovalStore)
        self.channel_state = ChannelStateStore(self._database, self._clock)
        self.events = self.part(EventLog)
        self.message_search = MessageSearch(self._database, self._clock)
        self.outbox = self.part(Outbox)
        self.persons = PersonStore(self._database, self._clock, self._parts)
        self.runs = SqlRunStore(self._database, self._clock, usage, self._parts)

    @classmethod
    def extend(cls, store: SqlStore) -> Self:
        """Return a host's store over the database of a chain's, open or not; both may be used."""
        usage, memories, preferences = store._others
        return cls(
            store._url,
            folder=store._folder,
            clock=store._clock,
            usage=usage,
            memories=memories,
            preferences=preferences,
            extends=store,
        )
