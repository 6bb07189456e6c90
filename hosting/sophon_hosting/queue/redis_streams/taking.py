"""Taking from the queue: what is ready at once, else after a wait; what a caller no longer wants is given back."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar, cast

from sophon.clock import Clock
from sophon_hosting.background_tasks import BackgroundTasks, end_tasks
from sophon_hosting.queue.contract import Delivery, EntryKind, NackResult, QueueEntry
from sophon_hosting.queue.errors import QueueUnavailable
from sophon_hosting.queue.redis_streams.connection import RedisConnection
from sophon_hosting.queue.shared_admission import KnownCounts

T = TypeVar("T")

FORGET_SECONDS = 3600.0
"""Idle time after which the name of a process without deliveries is deleted; they are looked for as often."""

MIN_BACK_OFF_SECONDS, MAX_BACK_OFF_SECONDS = 0.05, 2.0
"""Pauses between attempts to reach the server."""

MAX_BLOCK_MS = 1000
"""Longest blocking read: a consumer that nobody has woken looks by itself then."""


class Taker:
    """Deliveries to this process, which is one consumer of the group; and their way back."""

    def __init__(
        self,
        connection: RedisConnection,
        consumer: str,
        counts: KnownCounts,
        unpaused: asyncio.Event,
        clock: Clock,
        *,
        lease_seconds: float,
        max_deliveries: int,
    ) -> None:
        self._connection, self._consumer, self._counts = connection, consumer, counts
        self._unpaused, self._clock = unpaused, clock
        self._lease_seconds, self._max_deliveries = lease_seconds, max_deliveries
        self._reader = PermitReader(connection, consumer, lease_seconds, self._start_replacing)
        self._swept_at = self._forgot_at = float("-inf")
        # By token, with the time when they began.
        self._open: dict[int, float] = {}
        self._tasks = BackgroundTasks()

    @property
    def has_open(self) -> bool:
        """Whether a delivery of this process is in flight."""
        return bool(self._open)

    def running_seconds(self, delivery: Delivery) -> float | None:
        """Return how long a delivery of this process has run."""
        began = self._open.get(delivery.fencing_token)
        return None if began is None else self._clock.monotonic() - began

    def end(self, delivery: Delivery) -> None:
        """Forget a delivery."""
        self._open.pop(delivery.fencing_token, None)

    async def close(self) -> None:
        """End what is under way."""
        await self._reader.close()
        tasks = list(self._tasks)
        _, late = await asyncio.wait(tasks, timeout=1) if tasks else ((), ())
        await end_tasks(*late)

    async def take(self) -> Delivery:
        """Wait for the next entry, also while the server is away."""
        back_off = MIN_BACK_OFF_SECONDS
        permit: str | None = None
        while True:
            await self._unpaused.wait()
            try:
                delivery, due_ms = await self._take_ready(permit or "")
                if delivery is not None:
                    return delivery
                permit = await self._wait(due_ms)
                back_off = MIN_BACK_OFF_SECONDS
            except QueueUnavailable:
                permit = None
                await self._clock.sleep(back_off * (0.5 + self._clock.random()))
                back_off = min(back_off * 2, MAX_BACK_OFF_SECONDS)

    async def nack(
        self, delivery: Delivery, *, is_counted: bool, delay_seconds: float = 0.0, was_used: bool = True
    ) -> NackResult:
        """Give a delivery back; one that was not used is none in the statistics."""
        outcome, known = await self._connection.run(
            "nack",
            delivery.entry.task_id,
            delivery.fencing_token,
            int(is_counted),
            max(round(delay_seconds * 1e6), 0),
            self._max_deliveries,
            int(not was_used),
        )
        self._counts.learn(*known)
        return cast("NackResult", outcome)

    async def _take_ready(self, permit: str) -> tuple[Delivery | None, int]:
        """Take what is ready; else return the milliseconds until something is due, or -1.

        The question itself is not cancelled: what a cancelled or paused caller would get is given back.
        """
        question = self._tasks.start(self._ask(permit))
        try:
            delivery, due_ms = await asyncio.shield(question)
        except asyncio.CancelledError:
            question.add_done_callback(self._give_back_result)
            raise
        if delivery is None:
            return None, due_ms
        if not self._unpaused.is_set():
            await self._give_back(delivery)
            return None, -1
        self._open[delivery.fencing_token] = self._clock.monotonic()
        return delivery, due_ms

    async def _ask(self, permit: str) -> tuple[Delivery | None, int]:
        now = self._clock.monotonic()
        is_sweep = now - self._swept_at >= self._lease_seconds / 3
        is_forgetting = now - self._forgot_at >= FORGET_SECONDS
        if is_sweep:
            self._swept_at = now
        if is_forgetting:
            self._forgot_at = now
        found, due_ms, known = await self._connection.run(
            "take",
            self._consumer,
            permit,
            round(self._lease_seconds * 1000),
            self._max_deliveries,
            int(is_sweep),
            round(FORGET_SECONDS * 1000) if is_forgetting else 0,
        )
        self._counts.learn(*known)
        if found is None:
            return None, due_ms
        task, session, kind, owner, token, count = found
        return Delivery(QueueEntry(task, session, cast("EntryKind", kind), owner), token, count), -1

    async def _wait(self, due_ms: int) -> str | None:
        """Wait for a permit; what a cancelled or paused caller has read is replaced."""
        permit = await self._reader.wait(due_ms, is_wanted=self._unpaused.is_set)
        if permit is not None and not self._unpaused.is_set():
            await self._replace_permit(permit)
            return None
        return permit

    def _start_replacing(self, permit: str) -> None:
        self._tasks.start(self._replace_permit(permit))

    async def _replace_permit(self, permit: str) -> None:
        with suppress(QueueUnavailable):
            await self._connection.run("drop", permit)

    def _give_back_result(self, question: "asyncio.Task[tuple[Delivery | None, int]]") -> None:
        if question.cancelled() or question.exception() is not None:
            return
        delivery, _ = question.result()
        if delivery is not None:
            self._tasks.start(self._give_back(delivery))

    async def _give_back(self, delivery: Delivery) -> None:
        with suppress(QueueUnavailable):  # then its lease ends
            await self.nack(delivery, is_counted=False, was_used=False)


class PermitReader:
    """Consumers that wait take turns, in the order in which they came, so that blocking reads starve nobody.

    A read goes on if its consumer is cancelled, for the next one. `on_unused` gets the permit if there is none.
    """

    def __init__(
        self, connection: RedisConnection, consumer: str, lease_seconds: float, on_unused: Callable[[str], None]
    ) -> None:
        self._connection, self._consumer, self._on_unused = connection, consumer, on_unused
        self._block_ms = max(1, min(MAX_BLOCK_MS, int(lease_seconds * 1000 / 3)))
        self._turn = asyncio.Lock()
        self._reading: asyncio.Task[str | None] | None = None
        self._is_awaited = False

    async def wait(self, due_ms: int, *, is_wanted: Callable[[], bool]) -> str | None:
        """Wait for a permit and return its id; None after a time, after which the caller looks for itself.

        `due_ms` is the time until a delayed entry is due, or -1. Nothing is read unless `is_wanted` when it is this
        consumer's turn.
        """
        async with self._turn:
            if not is_wanted():
                return None
            if self._reading is None:
                block_ms = self._block_ms if due_ms < 0 else min(self._block_ms, due_ms + 1)
                self._reading = asyncio.create_task(self._connection.read_permit(self._consumer, block_ms))
                self._reading.add_done_callback(self._end)
            reading, self._is_awaited = self._reading, True
            try:
                return await asyncio.shield(reading)
            except asyncio.CancelledError:
                self._is_awaited = False
                if reading.done():  # it came in the same step
                    self._end(reading)
                raise

    async def close(self) -> None:
        """Wait until nothing is read any more."""
        if self._reading is not None:
            await asyncio.wait([self._reading])

    def _end(self, reading: "asyncio.Task[str | None]") -> None:
        self._reading = None
        permit = None if reading.cancelled() or reading.exception() is not None else reading.result()
        if permit is not None and not self._is_awaited:
            self._on_unused(permit)
        self._is_awaited = False
