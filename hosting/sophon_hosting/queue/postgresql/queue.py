"""Task queue in a PostgreSQL database, shared by any number of processes."""

import asyncio
import logging
import os
import time
from collections.abc import Sequence
from datetime import UTC
from typing import Any, Unpack
from uuid import uuid4

from sophon.errors import SettingsError
from sophon.security import hide_url_secrets
from sophon.services import Services
from sophon_hosting.queue.contract import DeadLetter, Delivery, NackResult, QueueEntry, QueueStatistics
from sophon_hosting.queue.errors import QueueUnavailable
from sophon_hosting.queue.postgresql.connection import to_conninfo
from sophon_hosting.queue.postgresql.dispatcher import Dispatcher, DispatcherOptions
from sophon_hosting.queue.postgresql.server_calls import ServerCalls
from sophon_hosting.queue.postgresql.sql_statements import Statement, build_statements
from sophon_hosting.queue.shared_admission import KnownCounts
from sophon_hosting.queue.shared_queue import SharedQueue, SharedQueueOptions, read_options
from sophon_hosting.settings.queue import QueueSettings

POSITION_LIMIT = 250
"""Positions from here on are estimated: counting further would cost a put more than all else. See lanes.sql."""

_log = logging.getLogger(__name__)

REFRESH_SECONDS = 1.0
"""Age of the counts with which `reserve` decides."""


def build_postgres_queue(services: Services, owner_share: float) -> "PostgresQueue":
    """Build the queue of the settings, in the database of `Queue.Url`, by default in that of the store.

    Raises SettingsError for a URL that is missing or of another technology.
    """
    settings = services.settings.section(QueueSettings)
    source = settings.url or services.settings.store.url
    url = source.resolve(os.environ)
    if url is None:
        raise SettingsError([f"Queue.Url: the {source.source_description} is missing or empty"])
    return PostgresQueue(url, settings.name, **read_options(services, owner_share))


class PostgresQueue(SharedQueue):
    """`TaskQueue` in tables of a PostgreSQL database; `name` is the first part of their names.

    Each operation is a transaction of one round trip that locks the row of one lane and, last, that of its owner.
    Workers take what others have not locked. Times are those of the server's clock. A process has one connection, and
    a second one once it takes.

    Commits are not flushed at once (`synchronous_commit` is off): a crash of the server may undo the last half second,
    and the store's reconciler puts back what was lost. Add `?options=-csynchronous_commit%3Don` to the URL where the
    queue has no store behind it. Positions from 250 on are estimates.
    """

    def __init__(self, url: str, name: str = "sophon", **options: Unpack[SharedQueueOptions]) -> None:
        super().__init__(**options)
        conninfo, server = to_conninfo(url), f"{name!r} at {hide_url_secrets(url)}"
        self._statements = build_statements(name)
        self._repeatable = self._statements.repeatable
        self._host = f"{name}_{uuid4().hex[:24]}"  # a channel has at most 63 characters
        self._operations = ServerCalls(conninfo, name, server)
        self._dispatcher = Dispatcher(
            DispatcherOptions(conninfo, name, server, self._host, self._lease_seconds, self._max_deliveries),
            self._statements,
            self._counts,
            self._unpaused,
            self._untake,
        )
        self._refresher = CountRefresher(self._operations, self._statements.counts, self._counts)

    async def open(self) -> None:
        """Connect, and create the tables if there are none. Raises QueueUnavailable."""
        if not self._refresher.is_open:
            await self._operations.open()
            await self._refresher.open()

    async def close(self) -> None:
        """Give back what was taken for nobody, and disconnect. Deliveries in flight keep their leases."""
        if not self._refresher.is_open:
            return
        await self._refresher.close()
        await self._dispatcher.close()
        try:
            await self._run(self._statements.forget_host, self._host)
        except QueueUnavailable as error:
            _log.info("the queue was not told of the end of this process: %s", error)
        await self._operations.close()

    async def put(self, entry: QueueEntry, *, force: bool = False) -> int:
        """Enqueue an entry and return its position. Raises QueueFull by the exact count, and QueueUnavailable."""
        return await self._put(None if force else self._counts.capacity, entry)

    async def take(self) -> Delivery:
        """Wait for the next entry, also while the server is away."""
        return await self._dispatcher.take()

    async def ack(self, delivery: Delivery) -> bool:
        """Acknowledge the delivery. Return False if it had already ended."""
        began = self._end(delivery)
        values = (delivery.entry.session_id, delivery.fencing_token, self._wakes)
        is_acked: bool = await self._ask(self._statements.ack, *values)
        if is_acked and began is not None:
            self._counts.drain_rate.seconds.append(time.monotonic() - began)
            self._counts.change(delivery.entry.owner, 0, -1)
        self._dispatcher.wake()
        return is_acked

    async def nack(self, delivery: Delivery, *, is_counted: bool = True, delay_seconds: float = 0.0) -> NackResult:
        """Return the entry to the front of its lane or, after the last delivery, to the dead letters."""
        self._end(delivery)
        values = (delivery.entry.session_id, delivery.fencing_token, is_counted, delay_seconds)
        result: NackResult = await self._ask(self._statements.nack, *values, self._max_deliveries, self._wakes)
        if result != "stale":
            self._counts.change(delivery.entry.owner, int(result == "waiting"), -1)
        if delay_seconds > 0:
            self._dispatcher.sweep_in(delay_seconds)
        self._dispatcher.wake()
        return result

    async def renew(self, delivery: Delivery) -> bool:
        """Renew the delivery lease. Return False if it was lost."""
        values = (delivery.entry.session_id, delivery.fencing_token, self._lease_seconds)
        is_renewed: bool = await self._ask(self._statements.renew, *values)
        if not is_renewed:
            self._end(delivery)
        return is_renewed

    async def hold_lane(self, session_id: str, task_id: str) -> bool:
        """Restrict the session's lane to this task. Return False if another task holds it."""
        is_held: bool = await self._ask(self._statements.hold, session_id, task_id)
        return is_held

    async def release_lane(self, session_id: str, task_id: str) -> bool:
        """End the hold of this task. Return False if it does not hold the lane."""
        is_released: bool = await self._ask(self._statements.release, session_id, task_id, self._wakes)
        self._dispatcher.wake()
        return is_released

    async def remove(self, task_id: str) -> bool:
        """Remove a waiting entry or a dead letter. Return False if there is none."""
        [(is_removed, owner)] = await self._run(self._statements.remove, task_id)
        if owner is not None:
            self._counts.change(owner, -1)
        return bool(is_removed)

    async def find_missing(self, entries: Sequence[QueueEntry]) -> list[QueueEntry]:
        """Return the entries whose tasks neither wait nor are in flight nor are dead letters."""
        tasks, sessions = [each.task_id for each in entries], [each.session_id for each in entries]
        rows = await self._run(self._statements.find_missing, tasks, sessions)
        return [entries[number - 1] for (number,) in rows]

    async def position(self, task_id: str) -> int | None:
        """Return the number of entries that are delivered before the task; None if it does not wait."""
        found: int | None = await self._ask(self._statements.position, task_id)
        return None if found is None else self._to_position(found)

    async def estimate_position(self, entry: QueueEntry) -> int:
        """Return the position that a new `run` would get."""
        values = (entry.task_id, entry.session_id, entry.owner)
        return self._to_position(await self._ask(self._statements.estimate, *values))

    async def resume(self) -> None:
        """Take again; aborts a waiting drain."""
        await super().resume()
        self._dispatcher.wake()

    async def list_dead_letters(self) -> list[DeadLetter]:
        """Return the dead letters, oldest first."""
        rows = await self._run(self._statements.dead_letters)
        return [
            DeadLetter(QueueEntry(task, session, "resume" if is_resume else "run", owner), count, at.astimezone(UTC))
            for task, session, is_resume, owner, count, at in rows
        ]

    async def retry_dead_letter(self, task_id: str) -> bool:
        """Enqueue a dead letter as a new entry. Return False if there is none."""
        owner: str | None = await self._ask(self._statements.retry, task_id, self._wakes)
        if owner is None:
            return False
        self._counts.change(owner, 1)
        self._dispatcher.wake()
        return True

    async def statistics(self) -> QueueStatistics:
        """Return a snapshot of the queue; `reserved` and `paused` are those of this process."""
        [row] = await self._run(self._statements.statistics)
        return self._build_statistics(*row)

    @property
    def _has_open_deliveries(self) -> bool:
        return bool(self._dispatcher.open)

    @property
    def _wakes(self) -> bool:
        """Whether an operation must wake another process: not if a consumer of this one waits for it."""
        return not self._dispatcher.wants_entries

    async def _put(self, capacity: int | None, entry: QueueEntry) -> int:
        counts, owner, is_resume = self._counts, entry.owner, entry.kind == "resume"
        values = (entry.task_id, entry.session_id, is_resume, owner, self._wakes, capacity, counts.owner_share)
        slots = (counts.reserved, counts.reserved_by[owner])
        [row] = await self._run(self._statements.put, *values, *slots)
        is_full, is_new, position, occupied, own, owners, in_flight = row
        if is_full:
            raise counts.refuse_counted(own, owners, occupied, 0 if self._is_paused else in_flight)
        if is_new:
            counts.change(owner, 1)
        self._dispatcher.wake()
        return self._to_position(position)

    def _to_position(self, counted: int) -> int:
        return counted if counted < POSITION_LIMIT else max(counted, self._counts.waiting - 1)

    def _end(self, delivery: Delivery) -> float | None:
        """Note that a delivery is no longer in flight here; return when it began."""
        began = self._dispatcher.open.pop(delivery.fencing_token, None)
        self._end_drains()
        return began

    async def _untake(self, delivery: Delivery) -> None:
        """Give back what no consumer has got; if the server is away, the lease ends it."""
        values = (delivery.entry.session_id, delivery.fencing_token, self._host, self._wakes)
        try:
            await self._run(self._statements.untake, *values)
        except QueueUnavailable as error:
            _log.warning("a task that nobody waited for is delivered again when its lease ends: %s", error)
        self._end_drains()
        self._dispatcher.wake()

    async def _run(self, statement: bytes, *values: object) -> list[tuple[Any, ...]]:
        is_repeatable = statement in self._repeatable
        return await self._operations.run(statement, *values, is_repeatable=is_repeatable)

    async def _ask(self, statement: bytes, *values: object) -> Any:
        [(value,)] = await self._run(statement, *values)
        return value


class CountRefresher:
    """Periodic task that replaces the known counts by those of the server."""

    def __init__(self, operations: ServerCalls, statement: Statement, counts: KnownCounts) -> None:
        self._operations, self._statement, self._counts = operations, statement, counts
        self._task: asyncio.Task[None] | None = None

    @property
    def is_open(self) -> bool:
        """Whether it runs."""
        return self._task is not None

    async def open(self) -> None:
        """Ask for the first time. Raises QueueUnavailable."""
        await self._refresh()
        self._task = asyncio.create_task(self._run())

    async def close(self) -> None:
        """Stop asking."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.wait([task])

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(REFRESH_SECONDS)
            try:
                await self._refresh()
            except QueueUnavailable as error:
                _log.debug("the counts of the queue are out of date: %s", error)

    async def _refresh(self) -> None:
        """Ask for the counts, and once more if something was delivered meanwhile: that comes on another connection."""
        for _ in range(2):
            deliveries = self._counts.deliveries
            rows = await self._operations.run(self._statement, is_repeatable=True)
            [(waiting, in_flight, seconds, by_owner)] = rows
            self._counts.learn_all(waiting, in_flight, by_owner)
            self._counts.drain_rate.elsewhere = seconds
            if deliveries == self._counts.deliveries:
                return
