"""One process works on a store at a time: two would carry out the same tasks, since neither knows the other's queue.

A queue that processes share (Redis, RabbitMQ) is their agreement; with the one in memory this lock is. The terminal
chat takes no lock: it carries out no tasks.
"""

import fcntl
import os
import socket
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from sqlalchemy import URL, Connection, create_engine, text
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.pool import NullPool

from sophon.errors import StoreError
from sophon.stores.opening import MEMORY_SCHEME
from sophon.stores.sql.dialects import name_of
from sophon.stores.sql.faults import store_error
from sophon.stores.sql.location import located

ADVISORY_KEY = 0x50_50_48_4F_4E
"""Of PostgreSQL's advisory lock, which belongs to the database: any number that nobody else takes."""

PATIENCE_SECONDS = 10
"""For a server that does not answer."""

LONGEST_NAME = 63
"""Characters that PostgreSQL keeps of an application's name."""

_HOLDER = text(
    "SELECT held.application_name FROM pg_locks JOIN pg_stat_activity AS held USING (pid) "
    "WHERE locktype = 'advisory' AND granted AND objsubid = 1 AND (classid::bigint << 32 | objid::bigint) = :key "
    "AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
)


class StoreLock:
    """Held from `with` to its end, or to the end of the process, however that comes.

    For SQLite a lock on a file beside the database, which the kernel lets go of; for PostgreSQL an advisory lock of a
    connection of its own (through a pooler such as PgBouncer: in its session mode). A store in memory needs none.

    Raises StoreError: another process holds it, who is named, or it cannot be taken.
    """

    def __init__(self, url: str, *, folder: Path | None = None) -> None:
        self._url, self._folder = url, folder or Path()
        self._held: _FileLock | _ServerLock | None = None

    def __enter__(self) -> Self:
        if self._url != MEMORY_SCHEME:
            url = located(self._url, self._folder)
            self._held = _FileLock(url) if url.get_backend_name() == "sqlite" else _ServerLock(url)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        held, self._held = self._held, None
        if held is not None:
            held.let_go()

    def renew(self) -> None:
        """Take it again if it was lost: with the connection to a server its lock ends as well.

        Raises StoreError if another process has it by now. Nothing is known while the server cannot be reached, and
        nobody can work on the store then. Waits for the server: for a thread.
        """
        if self._held is not None:
            self._held.renew()


class _FileLock:
    """Beside the database itself, wherever a link to it lies. The file stays: another may be about to lock it."""

    def __init__(self, url: URL) -> None:
        name, path = name_of(url), Path(f"{Path(url.database or '').resolve()}.lock")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
            try:
                self._lock(name)
            except BaseException:
                self.let_go()
                raise
        except OSError as error:
            error.filename = error.filename or str(path)
            raise store_error(name, error) from error

    def renew(self) -> None:
        """It is held as long as the file is open."""

    def let_go(self) -> None:
        os.close(self._file)

    def _lock(self, name: str) -> None:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise _taken(name, os.pread(self._file, 200, 0).decode(errors="replace").strip()) from None
        os.ftruncate(self._file, 0)
        os.pwrite(self._file, _this_process().encode(), 0)


class _ServerLock:
    def __init__(self, url: URL) -> None:
        self._name = name_of(url)
        try:
            # Autocommit: a transaction that stays open for weeks would keep the server from cleaning up.
            self._engine = create_engine(
                url,
                poolclass=NullPool,
                isolation_level="AUTOCOMMIT",
                connect_args={
                    "application_name": f"sophon {_this_process()}"[:LONGEST_NAME],
                    "connect_timeout": PATIENCE_SECONDS,
                    "tcp_user_timeout": PATIENCE_SECONDS * 1000,
                },
            )
            self._connection = self._locked()
        except (SQLAlchemyError, ModuleNotFoundError) as error:
            raise store_error(self._name, error) from error

    def renew(self) -> None:
        try:
            self._connection.execute(text("SELECT 1"))
        except SQLAlchemyError:
            self.let_go()
            with suppress(SQLAlchemyError):
                self._connection = self._locked()

    def let_go(self) -> None:
        with suppress(SQLAlchemyError):  # it is broken, and the lock gone with it
            self._connection.close()

    def _locked(self) -> Connection:
        connection = self._engine.connect()
        try:
            self._lock(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _lock(self, connection: Connection) -> None:
        if not connection.execute(text("SELECT pg_try_advisory_lock(:key)"), {"key": ADVISORY_KEY}).scalar():
            raise _taken(self._name, connection.execute(_HOLDER, {"key": ADVISORY_KEY}).scalar() or "")


def _this_process() -> str:
    return f"process {os.getpid()} on {socket.gethostname()}"


def _taken(name: str, holder: str) -> StoreError:
    return StoreError(
        name, f"{holder or 'another process'} works on it already; stop that one, or choose another Store.Url"
    )
