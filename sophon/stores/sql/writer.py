"""The writer thread: group commit of all queued writes in one transaction.

Each unit of work is a function of the connection; all of a batch are answered after the commit. If one fails, the
batch is rolled back and run again with a savepoint around each, so that a failure affects only its own caller.
Savepoints would cost every batch what only few batches need. While a commit runs, the next batch collects: the more
is written at once, the less each write costs. Source: reference/performance.md section 3, rule 13.
"""

import asyncio
import queue
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, cast

from sqlalchemy import Connection, Engine

from sophon.stores.sql.errors import find_unavailable_kind

MAX_BATCH = 256
"""Units of work per transaction; other processes may write between two batches."""

T = TypeVar("T")


class _TransactionEnded(Exception):
    """The database ended the transaction; `__cause__` is the error for which it did."""


@dataclass(slots=True, eq=False)
class _Job(Generic[T]):
    work: Callable[[Connection], T]
    future: asyncio.Future[T]
    loop: asyncio.AbstractEventLoop
    result: T | None = None
    error: BaseException | None = None

    def answer(self) -> None:
        """Resolve the future, in the caller's loop. The work of a cancelled caller was done all the same."""
        if self.future.done():
            return
        if self.error is not None:
            self.future.set_exception(self.error)
        else:
            self.future.set_result(cast(T, self.result))


class WriterThread:
    """A thread with its own connection and a queue of work. It calls `on_close` last."""

    def __init__(self, engine: Engine, on_close: Callable[[], None]) -> None:
        self._engine = engine
        self._on_close = on_close
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
            if batch:
                self._commit(batch, _run_job)
                _resolve(batch)
            batch = []  # while the thread waits for the next one, it holds the texts of none
        try:
            self._on_close()
        finally:
            if self._closed_job is not None:
                _resolve([self._closed_job])

    def _next_batch(self) -> tuple[list[_Job[Any]], bool]:
        """Return the queued jobs, at least one; False if the queue was closed."""
        batch: list[_Job[Any]] = []
        job = self._queue.get()
        while job is not None:
            batch.append(job)
            if len(batch) == MAX_BATCH:
                return batch, True
            try:
                job = self._queue.get_nowait()
            except queue.Empty:
                return batch, True
        return batch, False

    def _commit(self, batch: list[_Job[Any]], run: Callable[[_Job[Any], Connection], None]) -> None:
        working = False
        try:
            with self._engine.begin() as connection:
                working = True
                for job in batch:
                    run(job, connection)
                working = False
        except Exception as error:  # noqa: BLE001 - every caller gets the error, and the thread must go on
            # Never retry after a failed commit: the server may have committed before the connection was lost.
            # Without its disk or its server the database refuses the others too, one by one and each after a wait.
            is_own_failure = find_unavailable_kind(error) in (None, "damaged")
            if working and is_own_failure and run is _run_job and len(batch) > 1:
                self._commit(batch, _run_in_savepoint)
                return
            cause = error.__cause__ if isinstance(error, _TransactionEnded) else error
            for job in batch:
                job.error = job.error or cause


def _run_job(job: _Job[Any], connection: Connection) -> None:
    job.result = job.work(connection)


def _run_in_savepoint(job: _Job[Any], connection: Connection) -> None:
    connection.exec_driver_sql("SAVEPOINT job")
    try:
        _run_job(job, connection)
    except Exception as error:  # noqa: BLE001 - raised in the caller
        job.error = error
        try:
            connection.exec_driver_sql("ROLLBACK TO SAVEPOINT job")
        except Exception:  # noqa: BLE001 - the database has ended the transaction itself, and with it the whole batch
            raise _TransactionEnded from error
    connection.exec_driver_sql("RELEASE SAVEPOINT job")


def _resolve(batch: list[_Job[Any]]) -> None:
    """Resolve the futures, waking each event loop once."""
    for loop in {job.loop for job in batch}:
        mine = [job for job in batch if job.loop is loop]
        if not loop.is_closed():
            try:
                loop.call_soon_threadsafe(_resolve_all, mine)
            except RuntimeError:
                # The loop was closed in between: nobody waits in it.
                continue


def _resolve_all(jobs: list[_Job[Any]]) -> None:
    for job in jobs:
        job.answer()
