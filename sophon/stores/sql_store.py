"""The SQL store, composed of its repositories."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TypeVar, cast

from sqlalchemy import Table

from sophon.clock import Clock, SystemClock
from sophon.stores.attachments.sql import AttachmentStore
from sophon.stores.audit.sql import AuditStore
from sophon.stores.contract import Store
from sophon.stores.data_labels.sql import SqlDataLabelStore
from sophon.stores.grants.sql import SqlGrantStore
from sophon.stores.in_memory_url import MEMORY_SCHEME
from sophon.stores.leases.sql import LeaseStore
from sophon.stores.maintenance import StoreMaintenance
from sophon.stores.memories.contract import MemoryStore
from sophon.stores.memories.sql import SqlMemoryStore
from sophon.stores.preferences.contract import PreferenceStore
from sophon.stores.preferences.sql import SqlPreferenceStore
from sophon.stores.rate_windows.sql import SqlRateWindowStore
from sophon.stores.route_averages.sql import RouteAverageStore
from sophon.stores.sessions.sql import SqlSessionStore
from sophon.stores.snapshots.sql import SnapshotStore
from sophon.stores.sql.database import Database, ThreadedDatabase
from sophon.stores.sql.in_memory_database import MemoryDatabase
from sophon.stores.sql.schema import CHAIN_TABLES
from sophon.stores.sql.store_part import StorePart
from sophon.stores.sql.store_url import resolve_url
from sophon.stores.sub_agents.sql import SubAgentStore
from sophon.stores.texts.sql import TextStore
from sophon.stores.tool_call_journal.sql import SqlJournal
from sophon.stores.traces.sql import TraceStore
from sophon.stores.trajectories.sql import TrajectoryStore
from sophon.stores.usage.contract import UsageStore
from sophon.stores.usage.sql import SqlUsageStore
from sophon.stores.usage.sql_reservations import release_stale_reservations
from sophon.stores.vectors.sql import SqlVectorStore

LOCK_TIMEOUT_SECONDS = 10.0

P = TypeVar("P", bound=StorePart)


class SqlStore(Store):
    """A store in an SQLite file (`sqlite:///data/sophon.db`), a PostgreSQL database (`postgresql://...`), or in memory
    (`memory://`).

    A relative path is relative to `folder`, the working directory by default. `lock_timeout_seconds` is the timeout
    for a lock of another process, 10 by default. PostgreSQL needs the package psycopg.

    Several processes may use one database concurrently. When an awaited method returns, its effect is on disk, however
    the process ends. A call that is cancelled while it waits is executed nevertheless. Closing completes queued writes;
    a closed store can be opened again. A store in memory needs no opening, belongs to one event loop, and lasts as long
    as the object.

    `usage`, `memories` and `preferences` replace its own: a host's conversations off the record share those of the
    host. `parts` are repositories of somebody else with tables of their own; `part` returns them. With `extends`, a
    store of the same URL, they are added to that one's database. `database` takes the place of the one of the URL, as
    that of a simulated world does.

    Raises StoreError if the URL, file or server cannot be used, or the schema is newer than this version of Sophon.
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
        parts: Sequence[type[StorePart]] = (),
        extends: "SqlStore | None" = None,
        database: Database | None = None,
    ) -> None:
        clock = self._clock = clock or SystemClock()
        base: tuple[type[StorePart], ...] = () if extends is None else extends._parts
        own = tuple(part for part in parts if part not in base)
        self._parts: tuple[type[StorePart], ...] = (*base, *own)
        self._url, self._folder, self._others = url, folder, (usage, memories, preferences)
        self._made: dict[type[StorePart], StorePart] = {}
        # A group for each part: a store that a chain, or a host without a feature, has made lacks some of them.
        added = [part.tables for part in own if part.tables]
        self.in_memory = url == MEMORY_SCHEME and database is None
        """Whether the store is gone with this process."""
        self._database: Database
        resolved = None if url == MEMORY_SCHEME else resolve_url(url, folder or Path())
        shared = database if extends is None else extends._database
        if shared is not None:
            self._database = shared
            self._database.extend(added)
        elif resolved is None:
            self._database = MemoryDatabase(added)
        else:
            on_open = partial(release_stale_reservations, clock=clock)
            self._database = ThreadedDatabase(resolved, lock_timeout_seconds, on_open, added)
        self.maintenance = StoreMaintenance(self._database, resolved, clock)
        self.health = self._database.health
        self.file = self._database.file
        """The file of an SQLite database, otherwise None."""
        sessions = self.sessions = SqlSessionStore(self._database, clock, parts=self._parts)
        self._history_cache = sessions.history_cache
        self.usage: UsageStore = usage or SqlUsageStore(self._database, clock)
        self.attachments = AttachmentStore(self._database, clock)
        self.audit = AuditStore(self._database, clock)
        self.data_labels = SqlDataLabelStore(self._database, clock)
        self.grants = SqlGrantStore(self._database, clock)
        self.journal = SqlJournal(self._database, clock, self._parts)
        self.leases = LeaseStore(self._database, clock)
        self.memories: MemoryStore = memories or SqlMemoryStore(self._database, clock)
        self.preferences: PreferenceStore = preferences or SqlPreferenceStore(self._database, clock)
        self.rate_windows = SqlRateWindowStore(self._database, clock)
        self.snapshots = SnapshotStore(self._database, clock)
        self.sub_agents = SubAgentStore(self._database, clock)
        self.traces = TraceStore(self._database, clock)
        self.trajectories = TrajectoryStore(self._database, clock)
        self.vectors = SqlVectorStore(self._database, clock)
        self.route_averages = RouteAverageStore(self._database, clock)
        self.texts = TextStore(self._database, clock)

    @property
    def tables(self) -> Sequence[Table]:
        """The tables of its schema, those of its parts included."""
        return (*CHAIN_TABLES, *(table for group in self._database.added for table in group))

    def part(self, kind: type[P]) -> P:
        """Return the repository of one of the `parts`. Raises LookupError for a class that is none of them."""
        found = self._made.get(kind)
        if found is None:
            if kind not in self._parts:
                raise LookupError(f"{kind.__name__} is no part of the store {self._database.name}")
            found = self._made[kind] = kind(self._database, self._clock)
        return cast(P, found)

    async def open(self) -> None:
        """Connect, migrate the schema, release reservations of dead processes. Opening twice is allowed."""
        await self._database.open()

    async def close(self) -> None:
        """Complete pending writes, close the connections, end the threads. Closing twice is allowed."""
        await self._database.close()
        self._history_cache.clear()
