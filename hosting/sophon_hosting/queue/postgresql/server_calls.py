"""ServerCalls of one process on the queue's server: one connection, one after the other, in bounded time."""

import asyncio
import random
import time
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, TypeAlias

from psycopg import AsyncConnection, Error

from sophon._python.lazy_dataclass import dataclass
from sophon_hosting.queue.errors import QueueUnavailable
from sophon_hosting.queue.postgresql.connection import connect, is_broken, is_lost, is_transient
from sophon_hosting.queue.postgresql.sql_statements import Statement

Row: TypeAlias = tuple[Any, ...]

ANSWER_SECONDS = 10.0
"""Time after which an operation is given up."""

OUTAGE_SECONDS = 3.0
"""Time for which operations wait for a server that cannot be reached; after it they fail with the next attempt."""

_ATTEMPTS = 3
"""Attempts of a statement that met a deadlock."""

FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 0.05, 5.0
"""Pauses after the first failure, and after many."""

SHORTEST_PAUSE_SECONDS = 0.2
"""Pause that is kept even if somebody wants the next attempt at once."""


@dataclass(slots=True, eq=False)
class _ServerCall:
    """Statement with its values; `future` gets the rows, or the error. `repeats`: how often it may be sent again."""

    statement: Statement
    values: Sequence[object]
    future: asyncio.Future[list[Row]]
    repeats: int


class ServerCalls:
    """Runs statements on one connection, which is opened and opened again by a task of its own.

    A caller that is cancelled leaves its statement to complete; a connection is never left in the middle of one.
    """

    def __init__(self, conninfo: str, name: str, server: str) -> None:
        self._conninfo, self._name, self._server = conninfo, name, server
        self._pending: deque[_ServerCall] = deque()
        self._wake = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._connection: AsyncConnection | None = None
        self._outage = Outage()
        self._reason = "there is no connection"

    async def open(self) -> None:
        """Connect. Raises QueueUnavailable."""
        if self._task is None:
            self._connection = await self._connect()
            self._task = asyncio.create_task(self._run())

    async def close(self) -> None:
        """Disconnect; operations that wait fail."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
            self._task = None
        self._fail_all("it was closed")
        if self._connection is not None:
            await self._connection.close()
            self._connection = None

    async def run(self, statement: Statement, *values: object, is_repeatable: bool = False) -> list[Row]:
        """Run a statement in a transaction of its own and return its rows.

        Raises QueueUnavailable without a server, or if its connection broke: then nobody knows whether it took effect.
        One that is repeatable is sent once more before.
        """
        if self._task is None:
            raise QueueUnavailable(self._server, "it is not open")
        is_away = self._outage.seconds() > OUTAGE_SECONDS
        loop = asyncio.get_running_loop()
        future: asyncio.Future[list[Row]] = loop.create_future()
        operation = _ServerCall(statement, values, future, int(is_repeatable))
        self._pending.append(operation)
        self._wake.set()
        # A timer costs a fraction of `asyncio.timeout`, which would have to interrupt this task.
        limit = OUTAGE_SECONDS if is_away else ANSWER_SECONDS
        timer = loop.call_later(limit, self._expire, future, self._reason if is_away else f"no answer in {limit:.0f} s")
        try:
            return await future
        finally:
            timer.cancel()

    def _expire(self, future: asyncio.Future[list[Row]], reason: str) -> None:
        if not future.done():
            future.set_exception(QueueUnavailable(self._server, reason))

    async def _run(self) -> None:
        while True:
            if not self._pending and self._connection is not None:
                self._wake.clear()
                await self._wake.wait()
            connection = await self._ensure_connection()
            if connection is None:
                if not self._pending:
                    self._wake.clear()
                await self._outage.wait(self._wake)
                continue
            if self._pending and not (operation := self._pending.popleft()).future.done():
                await self._try(connection, operation)

    async def _ensure_connection(self) -> AsyncConnection | None:
        """Return a connection; None, with operations that have waited too long failed, if there is no server."""
        # A connection that broke while nothing was sent is replaced before an operation is lost with it.
        if self._connection is not None and is_broken(self._connection):
            await self._drop(self._connection)
        if self._connection is not None:
            return self._connection
        try:
            self._connection = await self._connect()
        except QueueUnavailable as error:
            self._reason = error.reason
            self._outage.fail()
            if self._outage.seconds() > OUTAGE_SECONDS:
                self._fail_all(error.reason)
            return None
        self._outage.succeed()
        return self._connection

    async def _connect(self) -> AsyncConnection:
        try:
            return await connect(self._conninfo, self._name)
        except (Error, OSError, TimeoutError) as error:
            raise QueueUnavailable(self._server, describe_error(error)) from error

    async def _drop(self, connection: AsyncConnection) -> None:
        self._connection = None
        await connection.close()

    async def _try(self, connection: AsyncConnection, operation: _ServerCall) -> None:
        # No pipeline: the client sends the end of a statement's transaction after the statement, and a process that is
        # stopped in between would hold its locks.
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                await _run_one(connection, operation)
        except (Error, OSError, TimeoutError) as error:
            if not is_transient(error):
                await self._drop(connection)
            if operation.future.done():
                return
            if operation.repeats:
                operation.repeats -= 1
                self._pending.appendleft(operation)
            else:
                operation.future.set_exception(QueueUnavailable(self._server, describe_error(error)))

    def _fail_all(self, reason: str) -> None:
        while self._pending:
            operation = self._pending.popleft()
            if not operation.future.done():
                operation.future.set_exception(QueueUnavailable(self._server, reason))


async def _run_one(connection: AsyncConnection, operation: _ServerCall) -> None:
    """Run an operation. Raises the error of a lost connection, and a transient one of the last attempt; another one is
    the operation's own.
    """
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            rows = await (await connection.execute(operation.statement, operation.values)).fetchall()
        except Error as error:
            if is_transient(error) and attempt < _ATTEMPTS:
                continue
            if is_transient(error) or is_lost(error):
                raise
            if not operation.future.done():
                operation.future.set_exception(error)
            return
        if not operation.future.done():
            operation.future.set_result(rows)
        return


def describe_error(error: BaseException) -> str:
    """Return a line that says why there is no connection, without the connection string."""
    if isinstance(error, TimeoutError) or not str(error).strip():
        return "it does not answer" if isinstance(error, TimeoutError) else type(error).__name__
    return str(error).strip().partition("\n")[0]


class Outage:
    """Exponential back-off with jitter, from the first failure to the next success."""

    __slots__ = ("_failures", "_since")

    def __init__(self) -> None:
        self._failures = 0
        self._since = 0.0

    def seconds(self) -> float:
        """Return how long the outage has lasted; 0.0 if there is none."""
        return time.monotonic() - self._since if self._failures else 0.0

    def fail(self) -> bool:
        """Count a failed attempt; return whether it begins an outage."""
        if not self._failures:
            self._since = time.monotonic()
        self._failures += 1
        return self._failures == 1

    def succeed(self) -> float:
        """End the outage; return how long it lasted in seconds, 0.0 if there was none."""
        seconds, self._failures = self.seconds(), 0
        return seconds

    async def wait(self, wanted: asyncio.Event | None = None) -> None:
        """Wait until the next attempt; not so long once somebody wants it."""
        pause = min(FIRST_PAUSE_SECONDS * 2 ** min(self._failures - 1, 20), LONGEST_PAUSE_SECONDS)
        pause *= random.uniform(0.5, 1.0)  # noqa: S311 - spreads attempts, guards nothing
        await asyncio.sleep(min(pause, SHORTEST_PAUSE_SECONDS))
        if wanted is None or pause < SHORTEST_PAUSE_SECONDS:
            await asyncio.sleep(max(pause - SHORTEST_PAUSE_SECONDS, 0))
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(pause - SHORTEST_PAUSE_SECONDS):
                await wanted.wait()
