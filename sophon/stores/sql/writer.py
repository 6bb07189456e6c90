"""The one writer of a process: a thread that commits all that waits for it in one transaction.

Each unit of work is a function of the connection; all of a batch are answered after the commit. When one fails, the
batch is undone and run again with a savepoint around each, so that it does not spoil its neighbours: savepoints would
cost every batch what only few batches need. While a commit is under way the next batch gathers: the more is written
at once, the less a write costs. Source: reference/performance.md section 3, rule 13.
"""

import asyncio
import queue
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, cast

from sqlalchemy import Connection, Engine

MAX_BATCH = 256
"""Units of work in one transaction: other processes get a turn between two batches."""

T = TypeVar("T")


@dataclass(slots=True, eq=False)
class _Job(Generic[T]):
    work: Callable[[Connection], T]
    future: asyncio.Future[T]
    loop: asyncio.AbstractEventLoop
    result: T | None = None
    error: BaseException | None = None

    def answer(self) -> None:
        """In the caller's loop. A caller that was cancelled has gone; what it asked for is done all the same."""
        if self.future.done():
            return
        if self.error is not None:
            self.future.set_exception(self.error)
        else:
            self.future.set_result(cast(T, self.result))


class Writer:
    """A thread with a connection of its own and a queue of work. `let_go` is called in it at the very end."""

    def __init__(self, engine: Engine, let_go: Callable[[], None]) -> None:
        self._engine = engine
        self._let_go = let_go
        self._queue: queue.SimpleQueue[_Job[Any] | None] = queue.SimpleQueue()
        self._ended: _Job[None] | None = None
        # A daemon: a program that forgets to close the store still ends, and what was acknowledged is on disk.
        self._thread = threading.Thread(target=self._run, name="sophon-writer", daemon=True)
        self._thread.start()

    def submit(self, work: Callable[[Connection], T]) -> asyncio.Future[T]:
        """Queue a unit of work; the future has its result after the commit, or what it raised.

        It is done even if the caller stops waiting. It may run twice, the first time undone; so it must do nothing
        but use the connection.
        """
        loop = asyncio.get_running_loop()
        job = _Job(work, loop.create_future(), loop)
        self._queue.put(job)
        return job.future

    async def close(self) -> None:
        """Do what is queued, then end the thread."""
        loop = asyncio.get_running_loop()
        self._ended = _Job(lambda _: None, loop.create_future(), loop)
        self._queue.put(None)
        await self._ended.future
        self._thread.join()

    def _run(self) -> None:
        open_ = True
        while open_:
            batch, open_ = self._next_batch()
            if batch:
                self._commit(batch, _run_plainly)
                _answer(batch)
        try:
            self._let_go()
        finally:
            if self._ended is not None:
                _answer([self._ended])

    def _next_batch(self) -> tuple[list[_Job[Any]], bool]:
        """What waits, at least one; False when there will be no more."""
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
        except Exception as error:  # noqa: BLE001 - every waiting caller is told, and the thread must live on
            # Never after a commit that failed: a server may have lost the connection and kept the transaction.
            if working and run is _run_plainly and len(batch) > 1:
                self._commit(batch, _run_guarded)
                return
            for job in batch:
                job.error = job.error or error


def _run_plainly(job: _Job[Any], connection: Connection) -> None:
    job.result = job.work(connection)


def _run_guarded(job: _Job[Any], connection: Connection) -> None:
    connection.exec_driver_sql("SAVEPOINT job")
    try:
        _run_plainly(job, connection)
    except Exception as error:  # noqa: BLE001 - it is the caller's, who gets it
        job.error = error
        # When the database itself has ended the transaction this fails too, and with it the whole batch.
        connection.exec_driver_sql("ROLLBACK TO SAVEPOINT job")
    connection.exec_driver_sql("RELEASE SAVEPOINT job")


def _answer(batch: list[_Job[Any]]) -> None:
    """Wake each event loop once."""
    for loop in {job.loop for job in batch}:
        mine = [job for job in batch if job.loop is loop]
        if not loop.is_closed():
            try:
                loop.call_soon_threadsafe(_answer_all, mine)
            except RuntimeError:
                # It was closed this very moment: nobody waits there any more.
                continue


def _answer_all(jobs: list[_Job[Any]]) -> None:
    for job in jobs:
        job.answer()
