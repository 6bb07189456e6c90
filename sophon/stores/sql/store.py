"""The SQL store, composed of its nine repositories."""

from functools import partial
from pathlib import Path

from sophon.clock import Clock, SystemClock
from sophon.stores.sql.approvals import SqlApprovals
from sophon.stores.sql.claims import drop_stale
from sophon.stores.sql.database import Database
from sophon.stores.sql.entries import SqlEntries
from sophon.stores.sql.events import SqlEvents
from sophon.stores.sql.journal import SqlJournal
from sophon.stores.sql.location import located
from sophon.stores.sql.notes import SqlNotes
from sophon.stores.sql.outbound import SqlOutbound
from sophon.stores.sql.runs import SqlRuns
from sophon.stores.sql.sessions import SqlSessions
from sophon.stores.sql.usage import SqlUsage

PATIENCE_SECONDS = 10.0


class SqlStore:
    """A store in an SQLite file (`sqlite:///data/sophon.db`) or a PostgreSQL database (`postgresql://...`).

    A relative path is relative to `folder`, the working directory by default. `patience_seconds` is the time-out for a
    lock of another process, 10 by default. PostgreSQL needs the package psycopg.

    Several processes may use one database concurrently. When an awaited method returns, its effect is on disk, however
    the process ends. A call that is cancelled while it waits is executed nevertheless. Closing completes queued writes;
    a closed store can be opened again.

    Raises StoreError if the URL, file or server cannot be used, or the schema is newer than this version of Sophon.
    """

    def __init__(
        self,
        url: str,
        *,
        folder: Path | None = None,
        clock: Clock | None = None,
        patience_seconds: float = PATIENCE_SECONDS,
    ) -> None:
        clock = clock or SystemClock()
        self._database = Database(located(url, folder or Path()), patience_seconds, partial(drop_stale, clock=clock))
        self.sessions = SqlSessions(self._database, clock)
        self.usage = SqlUsage(self._database, clock)
        self.approvals = SqlApprovals(self._database)
        self.journal = SqlJournal(self._database)
        self.memory = SqlEntries(self._database, clock)
        self.runs = SqlRuns(self._database, clock)
        self.outbound = SqlOutbound(self._database, clock)
        self.events = SqlEvents(self._database, clock)
        self.notes = SqlNotes(self._database, clock)

    async def open(self) -> None:
        """Connect, migrate the schema, release reservations of dead processes. Opening twice is allowed."""
        await self._database.open()

    async def close(self) -> None:
        """Complete pending writes, close the connections, end the threads. Closing twice is allowed."""
        await self._database.close()
