"""The writer thread: group commit of all queued writes in one transaction.

Each unit of work is a function of the connection; all of a batch are answered after the commit. If one fails, the
batch is rolled back and run again with a savepoint around each, so that a failure affects only its own caller.
Savepoints would cost every batch what only few batches need. While a commit runs, the next batch collects: the more
is written at once, the less each write costs.

A batch whose COMMIT got no answer is in doubt: its callers wait until the server says whether it was committed, and
nothing else is written before. So an error always means that nothing was written, and a caller may repeat its write.
"""

import asyncio
import queue
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any, Generic, Literal, TypeAlias, TypeVar

from sqlalchemy import Connection, Engine

from sophon._python.lazy_dataclass import dataclass
from sophon.stores.sql.dialects import TRANSACTION_ID
from sophon.stores.sql.errors import find_unavailable_kind

MAX_BATCH = 256
"""Units of work per transaction; other processes may write between two batches."""

DOUBT_INTERVAL_SECONDS = 1.0
"""Interval between two questions for the status of a batch in doubt."""

T = TypeVar("T")

CommitStatus: TypeAlias = Literal["committed", "aborted", "in progress"]


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


class _TransactionEnded(Exception):
    """The database ended the transaction; `__cause__` is the error for which it did."""


@dataclass(slots=True, eq=False)
class _Job(Generic[T]):
    work: Callable[[Connection], T]
    future: asyncio.Future[T]
    loop: asyncio.AbstractEventLoop
    result: T | None = None
    error: BaseException | None = None


@dataclass(slots=True)
class _DoubtfulBatch:
    """A batch whose COMMIT failed with `error` before the server answered."""

    jobs: list[_Job[Any]]
    transaction_id: int
    error: Exception


class WriterThread:
    """A thread with its own connection and a queue of work. It calls `on_close` last.

    `on_doubt` is called in the loop of a caller whose write is in doubt.
    """

    def __init__(
        self,
        connections: ThreadConnections,
        on_close: Callable[[], None],
        on_doubt: Callable[[], None] = lambda: None,
    ) -> None:
        self._connections = connections
        self._on_close, self._on_doubt = on_close, on_doubt
        self._in_doubt: _DoubtfulBatch | None = None
        self._queue: queue.SimpleQueue[_Job[Any] | None] = queue.SimpleQueue()
        self._closed_job: _Job[None] | None = None
        # A daemon, so that a program that does not close the store still exits; acknowledged writes are on disk.
        self._thread = threading.Thread(target=self._run, name="sophon-writer", daemon=True)
        self._thread.start()

    def submit(self, work: Callable[[Connection], T]) -> asyncio.Future[T]:
        """Queue a unit of work; the future gets its result after the commit, or its exception.

        It is executed even if the caller stops waiting. It may run twice, the first time rolled back, so it must have
        no effect outside the connection.
        """
        loop = asyncio.get_running_loop()
        job = _Job(work, loop.create_future(), loop)
        self._queue.put(job)
        return job.future

    async def close(self) -> None:
        """Execute what is queued, then end the thread."""
        loop = asyncio.get_running_loop()
        self._closed_job = _Job(lambda _: None, loop.create_future(), loop)
        self._queue.put(None)
        await self._closed_job.future
        self._thread.join()

    def _run(self) -> None:
        is_open = True
        while is_open:
            batch, is_open = self._next_batch()
            error = self._settle_doubt(self._in_doubt) if self._in_doubt is not None else None
            if error is not None:
                _fail(batch, error)
            elif batch:
                self._commit(batch)
            if self._in_doubt is None or self._in_doubt.jobs is not batch:
                _call_in_loops(batch, _resolve_all)
            batch = []  # while the thread waits for the next one, it holds the texts of none
        if self._in_doubt is not None and (error := self._settle_doubt(self._in_doubt)) is not None:
            _fail(self._in_doubt.jobs, error)
            _call_in_loops(self._in_doubt.jobs, _resolve_all)
        try:
            self._on_close()
        finally:
            if self._closed_job is not None:
                _call_in_loops([self._closed_job], _resolve_all)

    def _next_batch(self) -> tuple[list[_Job[Any]], bool]:
        """Return the queued jobs, at least one unless a batch is in doubt; False if the queue was closed."""
        batch: list[_Job[Any]] = []
        try:
            job = self._queue.get(timeout=None if self._in_doubt is None else DOUBT_INTERVAL_SECONDS)
            while job is not None:
                batch.append(job)
                if len(batch) == MAX_BATCH:
                    return batch, True
                job = self._queue.get_nowait()
        except queue.Empty:
            return batch, True
        return batch, False

    def _commit(self, batch: list[_Job[Any]], *, in_savepoints: bool = False) -> None:
        working, transaction_id = False, None
        try:
            with self._connections.connect() as connection, connection.begin():
                working = True
                for job in batch:
                    if in_savepoints:
                        _run_in_savepoint(job, connection)
                    else:
                        job.result = job.work(connection)
                transaction_id = connection.info.get(TRANSACTION_ID)  # None: its commit cannot be in doubt
                working = False
        except Exception as error:  # noqa: BLE001 - every caller gets the error, and the thread must go on
            # Never retry after a failed commit: the server may have committed before the connection was lost.
            # Without its disk or its server the database refuses the others too, one by one and each after a wait.
            kind = find_unavailable_kind(error)
            if working and kind in (None, "damaged") and not in_savepoints and len(batch) > 1:
                self._commit(batch, in_savepoints=True)
                return
            if not working and transaction_id is not None and kind == "unreachable":
                self._in_doubt = _DoubtfulBatch(batch, transaction_id, error)
                _call_in_loops(batch, lambda _: self._on_doubt())
                return
            cause = error.__cause__ if isinstance(error, _TransactionEnded) else error
            _fail(batch, cause or error)

    def _settle_doubt(self, doubt: _DoubtfulBatch) -> Exception | None:
        """Answer the batch in doubt if the server knows what became of it; return the error if it cannot be asked."""
        try:
            status = read_commit_status(self._connections.engine, doubt.transaction_id)
        except Exception as error:  # noqa: BLE001 - judged below
            if find_unavailable_kind(error) is not None:
                return error
            status = None
        if status == "in progress":
            return doubt.error
        if status != "committed":
            _fail(doubt.jobs, doubt.error)
        self._in_doubt = None
        _call_in_loops(doubt.jobs, _resolve_all)
        return None


def _fail(batch: list[_Job[Any]], error: BaseException) -> None:
    """Give the error to each job that has none of its own."""
    for job in batch:
        job.error = job.error or error


def _run_in_savepoint(job: _Job[Any], connection: Connection) -> None:
    connection.exec_driver_sql("SAVEPOINT job")
    try:
        job.result = job.work(connection)
    except Exception as error:  # noqa: BLE001 - raised in the caller
        job.error = error
        try:
            connection.exec_driver_sql("ROLLBACK TO SAVEPOINT job")
        except Exception:  # noqa: BLE001 - the database has ended the transaction itself, and with it the whole batch
            raise _TransactionEnded from error
    connection.exec_driver_sql("RELEASE SAVEPOINT job")


def _call_in_loops(batch: list[_Job[Any]], call: Callable[[list[_Job[Any]]], None]) -> None:
    """Call a function once in each event loop, with the jobs of that loop."""
    for loop in {job.loop for job in batch}:
        mine = [job for job in batch if job.loop is loop]
        if not loop.is_closed():
            try:
                loop.call_soon_threadsafe(call, mine)
            except RuntimeError:
                # The loop was closed in between: nobody waits in it.
                continue


def _resolve_all(jobs: list[_Job[Any]]) -> None:
    """Resolve the futures, in the callers' loop. The work of a cancelled caller was done all the same."""
    for job in jobs:
        if job.future.done():
            continue
        if job.error is not None:
            job.future.set_exception(job.error)
        else:
            job.future.set_result(job.result)


def read_commit_status(engine: Engine, transaction_id: int) -> CommitStatus | None:
    """Return the status of a transaction; None if the server no longer knows it. Raises the errors of the driver.

    PostgreSQL keeps the status of each transaction under its id, also across a restart: `txid_status`, PostgreSQL 10,
    section 9.26.8 (Transaction ID and Snapshot Information Functions). A local database always answers.
    """
    # Not `engine.begin()`: the write lock may still be held by that very transaction.
    connection = engine.raw_connection()
    try:
        cursor = connection.cursor()
        cursor.execute(f"SELECT txid_status({transaction_id})")
        row = cursor.fetchone()
        cursor.close()
    finally:
        connection.close()
    return None if row is None else row[0]
