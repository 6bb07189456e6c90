"""Takes entries for the waiting consumers of this process, on a connection of its own that also hears notices."""

import asyncio
import logging
import time
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from psycopg import AsyncConnection, Error

from sophon._python.lazy_dataclass import dataclass
from sophon_hosting.background_tasks import BackgroundTasks
from sophon_hosting.queue.contract import Delivery, QueueEntry
from sophon_hosting.queue.errors import QueueUnavailable
from sophon_hosting.queue.postgresql.connection import connect, is_transient
from sophon_hosting.queue.postgresql.server_calls import ANSWER_SECONDS, Outage, Row, describe_error
from sophon_hosting.queue.postgresql.sql_statements import Statements
from sophon_hosting.queue.shared_admission import KnownCounts

POLL_SECONDS = 2.0
"""Longest pause between two looks at the queue: notices may be lost, and leases end without one."""

SWEEP_SECONDS = 1.0
"""Pause between two looks for leases that have ended, while there is always something to take."""

BATCH = 32
"""Entries taken at once."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class DispatcherOptions:
    """What a take needs: the host's name, which is its channel, the lease in seconds, and the limit of deliveries."""

    conninfo: str
    name: str
    server: str
    host: str
    lease_seconds: float
    max_deliveries: int


class Dispatcher:
    """Serves waiting consumers in the order in which they came, and knows the open deliveries of this process.

    Only its own task takes entries: a consumer that is cancelled has taken nothing, or what it was just given goes to
    the next one or back to the queue by `give_back`.
    """

    def __init__(
        self,
        options: DispatcherOptions,
        statements: Statements,
        counts: KnownCounts,
        unpaused: asyncio.Event,
        give_back: Callable[[Delivery], Coroutine[Any, Any, None]],
    ) -> None:
        self._options, self._statements, self._counts = options, statements, counts
        self._unpaused, self._give_back = unpaused, give_back
        self._consumers: OrderedDict[asyncio.Future[Delivery], None] = OrderedDict()
        self._wake = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._returns = BackgroundTasks()
        self._connection: AsyncConnection | None = None
        self._outage = Outage()
        self._is_marked_idle = False
        self._is_closing = False
        self._sweep_at = 0.0
        self.open: dict[int, float] = {}
        """Fencing tokens of the deliveries in flight, and when each began (monotonic)."""

    @property
    def wants_entries(self) -> bool:
        """Whether a consumer waits and may be served."""
        return bool(self._consumers) and self._unpaused.is_set()

    async def take(self) -> Delivery:
        """Wait for a delivery."""
        consumer: asyncio.Future[Delivery] = asyncio.get_running_loop().create_future()
        self._consumers[consumer] = None
        if self._task is None:
            self._is_closing = False
            self._task = asyncio.create_task(self._run())
        self._wake.set()
        try:
            return await consumer
        except BaseException:
            self._consumers.pop(consumer, None)
            if consumer.done() and not consumer.cancelled():
                self._hand_out([consumer.result()])
            raise

    def wake(self) -> None:
        """Look at the queue: something may have become ready."""
        self._wake.set()

    def sweep_in(self, seconds: float) -> None:
        """Look for delays that have ended after this time."""
        self._sweep_at = min(self._sweep_at, time.monotonic() + seconds)
        self._wake.set()

    async def close(self) -> None:
        """Stop taking; what is being taken is given back."""
        task, self._task = self._task, None
        if task is None:
            return
        self._is_closing = True
        self._wake.set()
        await asyncio.wait([task], timeout=ANSWER_SECONDS)
        task.cancel()
        await asyncio.wait([task, *self._returns], timeout=ANSWER_SECONDS)
        await self._drop()

    async def _run(self) -> None:
        while not self._is_closing:
            self._wake.clear()
            if not self.wants_entries:
                await self._wake.wait()
                continue
            try:
                await self._serve()
            except (Error, OSError, TimeoutError, QueueUnavailable) as error:
                if is_transient(error):
                    continue
                await self._drop()
                if self._outage.fail():
                    reason = error.reason if isinstance(error, QueueUnavailable) else describe_error(error)
                    _log.warning("the queue %s delivers nothing: %s", self._options.server, reason)
                await self._outage.wait()

    async def _serve(self) -> None:
        """Take what is there for the consumers, and wait if it is less than they want."""
        connection = self._connection or await self._connect()
        seconds = POLL_SECONDS
        async with asyncio.timeout(ANSWER_SECONDS):
            if time.monotonic() >= self._sweep_at:
                seconds = await self._sweep(connection)
            wanted = min(len(self._consumers), BATCH)
            options = self._options
            values = (options.host, wanted, options.lease_seconds, self._counts.drain_rate.average_seconds)
            rows = await (await connection.execute(self._statements.take, values)).fetchall()
        self._accept(rows)
        if len(rows) == wanted:
            self._is_marked_idle = False
        elif self._is_marked_idle and not rows:
            await self._idle(connection, seconds)
        else:
            # Something may have been put before the server knew that this host is idle: look once more.
            self._is_marked_idle = True

    async def _connect(self) -> AsyncConnection:
        options = self._options
        connection = self._connection = await connect(options.conninfo, options.name)
        connection.add_notify_handler(lambda _: self._notice())
        await connection.execute(f'LISTEN "{options.host}"'.encode())
        self._is_marked_idle = False
        if seconds := self._outage.succeed():
            _log.info("the queue %s delivers again after %.0f s", self._options.server, seconds)
        return connection

    async def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.close()

    def _notice(self) -> None:
        """Note that this host was woken, for which the server no longer counts it as idle."""
        self._is_marked_idle = False
        self._wake.set()

    async def _sweep(self, connection: AsyncConnection) -> float:
        """End leases and delays; return the seconds until the next look."""
        is_forced = self._sweep_at > 0
        values = (self._options.max_deliveries, is_forced)
        [(seconds,)] = await (await connection.execute(self._statements.sweep, values)).fetchall()
        pause = SWEEP_SECONDS if seconds is None else min(max(seconds, 0.0), SWEEP_SECONDS)
        self._sweep_at = time.monotonic() + pause
        return pause if seconds is not None and seconds < SWEEP_SECONDS else POLL_SECONDS

    async def _idle(self, connection: AsyncConnection, seconds: float) -> None:
        """Wait until woken: by this process, by anything that comes on the connection, or by time."""
        if self._wake.is_set():
            return
        loop, socket = asyncio.get_running_loop(), connection.pgconn.socket
        pause = max(min(seconds, self._sweep_at - time.monotonic() if self._sweep_at else seconds), 0.0)
        loop.add_reader(socket, self._wake.set)
        try:
            async with asyncio.timeout(max(pause, 0.01)):
                await self._wake.wait()
        except TimeoutError:
            return
        finally:
            loop.remove_reader(socket)

    def _accept(self, rows: Sequence[Row]) -> None:
        deliveries: list[Delivery] = []
        for task_id, session_id, is_resume, owner, token, count in rows:
            entry = QueueEntry(task_id, session_id, "resume" if is_resume else "run", owner)
            deliveries.append(Delivery(entry, token, count))
            self._counts.change(owner, -1, 1)
        self._hand_out(deliveries)

    def _hand_out(self, deliveries: Sequence[Delivery]) -> None:
        """Give each to the consumer that has waited longest; those for which there is none go back."""
        for delivery in deliveries:
            consumer = self._next_consumer()
            if consumer is not None:
                self.open[delivery.fencing_token] = time.monotonic()
                consumer.set_result(delivery)
                continue
            self.open.pop(delivery.fencing_token, None)
            self._counts.change(delivery.entry.owner, 1, -1)
            self._returns.start(self._give_back(delivery))

    def _next_consumer(self) -> asyncio.Future[Delivery] | None:
        if not self._unpaused.is_set() or self._is_closing:
            return None
        while self._consumers:
            consumer, _ = self._consumers.popitem(last=False)
            if not consumer.done():
                return consumer
        return None
