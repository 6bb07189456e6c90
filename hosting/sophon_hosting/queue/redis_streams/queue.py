"""Task queue on Redis Streams, for several hosts. The rules are Lua scripts, each of which is one step."""

import asyncio
import os
import socket
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Unpack

from sophon.clock import Clock, SystemClock
from sophon.errors import SettingsError
from sophon.services import Services
from sophon_hosting.background_tasks import end_tasks
from sophon_hosting.queue.contract import (
    DeadLetter,
    Delivery,
    NackResult,
    QueueEntry,
    QueueStatistics,
)
from sophon_hosting.queue.errors import QueueUnavailable
from sophon_hosting.queue.redis_streams.connection import RedisConnection
from sophon_hosting.queue.redis_streams.taking import Taker
from sophon_hosting.queue.shared_queue import SharedQueue, SharedQueueOptions, read_options
from sophon_hosting.settings.queue import QueueSettings

REFRESH_SECONDS = 1.0
"""Time after which the counts of all owners are asked for."""

MISSING_BATCH = 500
"""Tasks of one question of `find_missing`."""


def build_redis_queue(services: Services, owner_share: float) -> "RedisStreamsQueue":
    """Build the queue of `Queue.Backend: Redis` from the settings of the services."""
    queue = services.settings.section(QueueSettings)
    url = queue.url.resolve(os.environ) if queue.url is not None else None
    if not url:
        raise SettingsError(["Queue.Url: the URL of the Redis server is missing or empty"])
    return RedisStreamsQueue(url, queue.name, clock=services.clock, **read_options(services, owner_share))


class RedisStreamsQueue(SharedQueue):
    """`TaskQueue` on Redis 7.0 or newer, or Valkey; see docs/queues.md for what it promises.

    Queues with the same `url` and `name` are one queue. Times are those of the server. For one event loop.
    """

    def __init__(
        self, url: str, name: str, *, clock: Clock | None = None, **options: Unpack[SharedQueueOptions]
    ) -> None:
        super().__init__(**options)
        self._clock = clock or SystemClock()
        self._connection = RedisConnection(url, name)
        self._consumer = f"{socket.gethostname()}-{os.getpid()}-{self._clock.new_nonce()}"
        self._taker = Taker(
            self._connection,
            self._consumer,
            self._counts,
            self._unpaused,
            self._clock,
            lease_seconds=self._lease_seconds,
            max_deliveries=self._max_deliveries,
        )
        self._refreshing: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Connect. Raises QueueUnavailable if the server is not there."""
        await self._connection.ping()
        await self._count()
        self._refreshing = asyncio.create_task(self._refresh())

    async def close(self) -> None:
        """Leave the queue, which stays as it is."""
        await end_tasks(self._refreshing)
        await self._taker.close()
        with suppress(QueueUnavailable):
            await self._connection.run("leave", self._consumer)
        await self._connection.close()

    async def put(self, entry: QueueEntry, *, force: bool = False) -> int:
        """Enqueue an entry and return its position. Raises QueueFull, except for forced, `resume` and known entries."""
        counts = self._counts
        position, known = await self._connection.run(
            "put",
            entry.task_id,
            entry.session_id,
            entry.kind,
            entry.owner,
            int(force),
            counts.capacity,
            counts.owner_share,
            counts.reserved_by[entry.owner],
            counts.reserved,
        )
        self._counts.learn(*known)
        if position is None:
            raise counts.refuse(entry.owner, is_paused=self._is_paused)
        return int(position)

    async def take(self) -> Delivery:
        """Wait for the next entry. What a cancelled call would get is given back."""
        return await self._taker.take()

    async def ack(self, delivery: Delivery) -> bool:
        """Acknowledge the delivery. Return False if it had already ended."""
        seconds = self._taker.running_seconds(delivery)
        try:
            done, known = await self._connection.run("ack", delivery.entry.task_id, delivery.fencing_token)
        finally:
            self._end(delivery)
        self._counts.learn(*known)
        if done and seconds is not None:
            self._counts.drain_rate.seconds.append(seconds)
        return bool(done)

    async def nack(self, delivery: Delivery, *, is_counted: bool = True, delay_seconds: float = 0.0) -> NackResult:
        """Return the entry to the front of its lane or, after the last delivery, to the dead letters."""
        try:
            return await self._taker.nack(delivery, is_counted=is_counted, delay_seconds=delay_seconds)
        finally:
            self._end(delivery)

    async def renew(self, delivery: Delivery) -> bool:
        """Renew the lease. Return False if it was lost."""
        renewed = await self._connection.run("renew", delivery.entry.task_id, delivery.fencing_token, self._consumer)
        if not renewed:
            self._end(delivery)
        return bool(renewed)

    async def hold_lane(self, session_id: str, task_id: str) -> bool:
        """Restrict the session's lane to this task. Return False if another task holds it."""
        return bool(await self._connection.run("hold", session_id, task_id))

    async def release_lane(self, session_id: str, task_id: str) -> bool:
        """End the hold of this task. Return False if it does not hold the lane."""
        return bool(await self._connection.run("release", session_id, task_id))

    async def remove(self, task_id: str) -> bool:
        """Remove a waiting entry or a dead letter. Return False if there is none."""
        return await self._run_counted("remove", task_id)

    async def find_missing(self, entries: Sequence[QueueEntry]) -> list[QueueEntry]:
        """Return the entries whose tasks neither wait nor are in flight nor are dead letters."""
        missing: list[QueueEntry] = []
        for start in range(0, len(entries), MISSING_BATCH):
            batch = entries[start : start + MISSING_BATCH]
            numbers = await self._connection.run("missing", *(entry.task_id for entry in batch))
            missing += [batch[number] for number in numbers]
        return missing

    async def position(self, task_id: str) -> int | None:
        """Return the number of entries that are delivered before the task; None if it does not wait."""
        position = await self._connection.run("position", task_id)
        return None if position is None else int(position)

    async def estimate_position(self, entry: QueueEntry) -> int:
        """Return the position that a new `run` would get."""
        return int(await self._connection.run("estimate", entry.task_id, entry.session_id, entry.owner))

    async def list_dead_letters(self) -> list[DeadLetter]:
        """Return the dead letters, oldest first."""
        return [
            DeadLetter(QueueEntry(task, session, kind, owner), count, datetime.fromtimestamp(died_us / 1e6, UTC))
            for task, session, kind, owner, count, died_us in await self._connection.run("dead_letters")
        ]

    async def retry_dead_letter(self, task_id: str) -> bool:
        """Enqueue a dead letter as a new entry. Return False if there is none."""
        return await self._run_counted("retry", task_id)

    async def statistics(self) -> QueueStatistics:
        """Return a snapshot of the queue of all hosts; slots and pause are of this process."""
        waiting, in_flight, held, dead, delivered, oldest_us = await self._connection.run("statistics")
        return self._build_statistics(waiting, in_flight, held, dead, delivered, max(oldest_us, 0) / 1e6)

    @property
    def _has_open_deliveries(self) -> bool:
        return self._taker.has_open

    async def _run_counted(self, script: str, task_id: str) -> bool:
        done, known = await self._connection.run(script, task_id)
        self._counts.learn(*known)
        return bool(done)

    async def _refresh(self) -> None:
        """Ask for the counts again and again; what other processes did comes with no reply while this one is idle."""
        while True:
            await self._clock.sleep(REFRESH_SECONDS)
            with suppress(QueueUnavailable):
                await self._count()

    async def _count(self) -> None:
        in_flight, owners = await self._connection.run("counts")
        by_owner = dict(zip(owners[::2], map(int, owners[1::2]), strict=True))
        self._counts.learn_all(sum(by_owner.values()), in_flight, by_owner)

    def _end(self, delivery: Delivery) -> None:
        self._taker.end(delivery)
        self._end_drains()
