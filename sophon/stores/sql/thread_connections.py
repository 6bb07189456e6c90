"""Connections of the database threads: on SQLite each thread keeps its own, on PostgreSQL each use checks one out."""

import threading
from collections.abc import Generator
from contextlib import contextmanager

from sqlalchemy import Connection, Engine


class ThreadConnections:
    """Connections of an engine, one per thread.

    Taking a connection from the pool and giving it back takes longer than a small transaction of SQLite without its
    flush. A server may close a connection at any time, which the pool finds out when it hands one out, so those of
    PostgreSQL go back to it.
    """

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._keeps = engine.dialect.name == "sqlite"
        self._local = threading.local()
        self._lock = threading.Lock()
        self._kept: set[Connection] = set()

    @contextmanager
    def connect(self) -> Generator[Connection]:
        """Yield a connection without a transaction; one that is open at the end is rolled back, as the pool does.

        After an error a kept connection is given back, so that the next use begins with a fresh one.
        """
        if not self._keeps:
            with self.engine.connect() as borrowed:
                yield borrowed
            return
        connection: Connection | None = getattr(self._local, "connection", None)
        if connection is None or connection.closed:
            connection = self._local.connection = self.engine.connect()
            with self._lock:
                self._kept.add(connection)
        try:
            yield connection
            if connection.in_transaction():
                connection.rollback()
        except BaseException:
            self._give_back(connection)
            raise

    @contextmanager
    def begin(self) -> Generator[Connection]:
        """Yield a connection with an open transaction, which is committed at the end, or rolled back after an error."""
        with self.connect() as connection, connection.begin():
            yield connection

    def close(self) -> None:
        """Give back the connections that threads keep; no thread may use one any more."""
        with self._lock:
            kept, self._kept = self._kept, set()
        for connection in kept:
            connection.close()

    def _give_back(self, connection: Connection) -> None:
        self._local.connection = None
        with self._lock:
            self._kept.discard(connection)
        connection.close()
