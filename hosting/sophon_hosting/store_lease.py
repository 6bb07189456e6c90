"""Store lease: the claim of a host process on its store, exclusive or shared with the other processes of a group.

Two hosts with in-memory queues would run the same tasks twice, and so would one with such a queue beside a group that
has a shared one: the first needs the store alone, the processes of a group exclude only those. An SQLite file is for
one process, whatever its queue. The terminal chat takes no lease because it runs no queued tasks.
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

from sophon._python.private_files import make_private_folder
from sophon.errors import StoreError
from sophon.stores.factory import MEMORY_SCHEME
from sophon.stores.sql.dialects import SERVER_TIMEOUT_SECONDS, describe_url
from sophon.stores.sql.errors import to_store_error
from sophon.stores.sql.store_url import resolve_url

ADVISORY_KEY = 0x50_50_48_4F_4E
"""Key of the PostgreSQL advisory lock, which is scoped to the database: an arbitrary fixed number."""

MAX_APPLICATION_NAME_CHARACTERS = 63
"""Maximum length of `application_name` in PostgreSQL, in characters."""

SHARED_MODE = "ShareLock"
"""Mode of a shared advisory lock in `pg_locks`."""

_HOLDER = text(
    "SELECT held.application_name, mode FROM pg_locks JOIN pg_stat_activity AS held USING (pid) "
    "WHERE locktype = 'advisory' AND granted AND objsubid = 1 AND (classid::bigint << 32 | objid::bigint) = :key "
    "AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
)


class StoreLease:
    """Lease on a store, held for a `with` block or until the process ends.

    SQLite: an `flock` on a file beside the database, which the kernel releases. PostgreSQL: an advisory lock on a
    dedicated connection (a pooler such as PgBouncer must use session mode), which the processes of a group
    (`is_shared`) hold together and any other one alone. An in-memory store needs no lease.

    Raises StoreError if another process holds the lease (the message names it) or acquiring it fails.
    """

    def __init__(self, url: str, *, folder: Path | None = None, is_shared: bool = False) -> None:
        self._url, self._folder, self._is_shared = url, folder or Path(), is_shared
        self._lock_handle: _FileLock | _ServerLock | None = None

    def __enter__(self) -> Self:
        if self._url != MEMORY_SCHEME:
            url = resolve_url(self._url, self._folder)
            self._lock_handle = (
                _FileLock(url) if url.get_backend_name() == "sqlite" else _ServerLock(url, self._is_shared)
            )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        lock, self._lock_handle = self._lock_handle, None
        if lock is not None:
            lock.release()

    def renew(self) -> None:
        """Acquire the lease again if the connection to the server, and with it the lock, was lost.

        Raises StoreError if another process holds the lease now. Does nothing while the server is unreachable: no
        process can use the store then. Blocking; call it in a thread.
        """
        if self._lock_handle is not None:
            self._lock_handle.renew()


class _FileLock:
    """Lock file beside the resolved database path. It is never deleted: another process may be about to lock it."""

    def __init__(self, url: URL) -> None:
        name, path = describe_url(url), Path(f"{Path(url.database or '').resolve()}.lock")
        try:
            make_private_folder(path.parent)
            self._file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
            try:
                self._lock(name)
            except BaseException:
                self.release()
                raise
        except OSError as error:
            error.filename = error.filename or str(path)
            raise to_store_error(name, error) from error

    def renew(self) -> None:
        """Do nothing: the lock is held as long as the file is open."""

    def release(self) -> None:
        os.close(self._file)

    def _lock(self, name: str) -> None:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise _already_held(name, os.pread(self._file, 200, 0).decode(errors="replace").strip()) from None
        os.ftruncate(self._file, 0)
        os.pwrite(self._file, _process_name().encode(), 0)


class _ServerLock:
    def __init__(self, url: URL, is_shared: bool) -> None:
        self._name, self._is_shared = describe_url(url), is_shared
        try:
            # Autocommit: a transaction that stays open for weeks would block vacuuming.
            self._engine = create_engine(
                url,
                poolclass=NullPool,
                isolation_level="AUTOCOMMIT",
                connect_args={
                    "application_name": f"sophon {_process_name()}"[:MAX_APPLICATION_NAME_CHARACTERS],
                    "connect_timeout": SERVER_TIMEOUT_SECONDS,
                    "tcp_user_timeout": SERVER_TIMEOUT_SECONDS * 1000,
                },
            )
            self._connection = self._connect_and_lock()
        except (SQLAlchemyError, ModuleNotFoundError) as error:
            raise to_store_error(self._name, error) from error

    def renew(self) -> None:
        try:
            self._connection.execute(text("SELECT 1"))
        except SQLAlchemyError:
            self.release()
            with suppress(SQLAlchemyError):
                self._connection = self._connect_and_lock()

    def release(self) -> None:
        with suppress(SQLAlchemyError):  # the connection is broken, which has released the lock
            self._connection.close()

    def _connect_and_lock(self) -> Connection:
        connection = self._engine.connect()
        try:
            self._lock(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _lock(self, connection: Connection) -> None:
        function = "pg_try_advisory_lock_shared" if self._is_shared else "pg_try_advisory_lock"
        if connection.execute(text(f"SELECT {function}(:key)"), {"key": ADVISORY_KEY}).scalar():
            return
        holder, mode = connection.execute(_HOLDER, {"key": ADVISORY_KEY}).first() or ("", "")
        if self._is_shared or mode == SHARED_MODE:
            raise _other_queue(self._name, holder)
        raise _already_held(self._name, holder)


def _process_name() -> str:
    return f"process {os.getpid()} on {socket.gethostname()}"


def _already_held(name: str, holder: str) -> StoreError:
    return StoreError(
        name, f"{holder or 'another process'} is already using this store; stop it or choose another Store.Url"
    )


def _other_queue(name: str, holder: str) -> StoreError:
    return StoreError(
        name,
        f"{holder or 'another process'} is using this store with another kind of queue; all its processes must have "
        "the same shared queue (Queue.Backend, Queue.Url, Queue.Name), or one of them have it alone",
    )
