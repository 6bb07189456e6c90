"""One process works on a store at a time: two would carry out the same tasks, since neither knows the other's queue.

A queue that processes share (Redis, RabbitMQ) is their agreement; with the one in memory this lock is. The terminal
chat takes no lock: it carries out no tasks.
"""

import fcntl
import os
import socket
from pathlib import Path
from types import TracebackType
from typing import Self

from sqlalchemy import create_engine, make_url, text
from sqlalchemy.pool import NullPool

from sophon.errors import StoreError

ADVISORY_KEY = 0x50_50_48_4F_4E
"""Of PostgreSQL's advisory lock, which belongs to the database: any number that nobody else takes."""


class StoreLock:
    """Held from `with` to its end, or to the end of the process, however that comes.

    Raises StoreError, naming who holds it, when another process does. A store in memory needs none.
    """

    def __init__(self, url: str, *, folder: Path | None = None) -> None:
        self._url, self._folder = url, folder or Path()
        self._file: int | None = None
        self._connection: object | None = None

    def __enter__(self) -> Self:
        parsed = make_url(self._url)
        if parsed.get_backend_name() == "postgresql":
            self._lock_server()
        elif parsed.get_backend_name() == "sqlite" and parsed.database not in (None, "", ":memory:"):
            self._lock_file(self._folder / f"{parsed.database}.lock")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None
        self._connection = None

    def _lock_file(self, path: Path) -> None:
        """The kernel lets go of it when the process ends, so that a kill leaves nothing behind."""
        path.parent.mkdir(parents=True, exist_ok=True)
        file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(file, 200, 0).decode(errors="replace").strip()
            os.close(file)
            raise StoreError(self._url, _held(holder)) from None
        os.ftruncate(file, 0)
        os.pwrite(file, f"process {os.getpid()} on {socket.gethostname()}".encode(), 0)
        self._file = file

    def _lock_server(self) -> None:
        connection = create_engine(self._url, poolclass=NullPool).connect()
        if not connection.execute(text("SELECT pg_try_advisory_lock(:key)"), {"key": ADVISORY_KEY}).scalar():
            connection.close()
            raise StoreError(make_url(self._url).render_as_string(hide_password=True), _held("another process"))
        self._connection = connection


def _held(holder: str) -> str:
    return f"{holder or 'another process'} works on it already; stop that one, or choose another Store.Url"
