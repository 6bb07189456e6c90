"""Task queue on RabbitMQ as one process sees it."""

import asyncio
import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Unpack, cast
from urllib.parse import urlsplit

from sophon.clock import Clock, SystemClock
from sophon.errors import SettingsError
from sophon.services import Services
from sophon_hosting.background_tasks import BackgroundTasks
from sophon_hosting.queue.contract import (
    DeadLetter,
    Delivery,
    NackResult,
    QueueEntry,
    QueueStatistics,
    TaskQueue,
)
from sophon_hosting.queue.drain_rate import MAX_RETRY_AFTER_SECONDS
from sophon_hosting.queue.errors import QueueFull, QueueUnavailable
from sophon_hosting.queue.owner_share import may_enter
from sophon_hosting.queue.rabbitmq.connection import BrokerConnection
from sophon_hosting.queue.rabbitmq.coordinator import Coordinator
from sophon_hosting.queue.rabbitmq.member import Member, OpenDeliveries
from sophon_hosting.queue.rabbitmq.restorable_queue import ScheduledQueue
from sophon_hosting.queue.rabbitmq.scheduler_heartbeat import Heartbeat
from sophon_hosting.queue.rabbitmq.topology import CONSUMER_TIMEOUT_SECONDS, Topology
from sophon_hosting.queue.shared_queue import SharedQueue, SharedQueueOptions, read_options
from sophon_hosting.settings.queue import QueueSettings

REFRESH_SECONDS = CONSUMER_TIMEOUT_SECONDS / 3
"""Age at which a record is written again, so that none is unacknowledged for as long as the consumer time-out."""


class RabbitMqQueue(SharedQueue):
    """`TaskQueue` of several processes on RabbitMQ 3.10 and newer.

    One process at a time schedules, with the queue in memory that a single process has; the broker chooses it, keeps a
    record of each entry, and gives the records to another process when that one is gone. The other processes call it
    through the broker. `label` names the broker in errors, by default its address. Leases and time-outs are in real
    time, on the clock of the process that schedules.
    """

    def __init__(
        self,
        url: str,
        name: str = "sophon",
        *,
        label: str | None = None,
        refresh_seconds: float = REFRESH_SECONDS,
        topology: Topology | None = None,
        clock: Clock | None = None,
        **options: Unpack[SharedQueueOptions],
    ) -> None:
        super().__init__(**options)
        self._refresh_seconds, self._clock = refresh_seconds, clock or SystemClock()
        self._open_deliveries = OpenDeliveries()
        self._member = Member(
            url,
            label or describe_broker(url),
            topology or Topology(name),
            self._lease_seconds,
            self._open_deliveries,
            self._build_coordinator,
            self._restart_takes,
        )
        self._takes: set[asyncio.Task[Delivery]] = set()
        self._returns = BackgroundTasks()

    async def open(self) -> None:
        """Connect. Raises QueueUnavailable if the broker does not answer."""
        await self._member.open()

    async def close(self) -> None:
        """Give back what was taken and is not done, and disconnect."""
        self._unpaused.clear()
        self._restart_takes()
        await self._returns.wait()
        await self._member.close()

    async def put(self, entry: QueueEntry, *, force: bool = False) -> int:
        """Enqueue an entry and return its position. Raises QueueFull and QueueUnavailable."""
        try:
            return int(await self._member.call("put", entry, force, dict(self._counts.reserved_by)))
        except QueueFull as error:
            raise self._refuse(error) from None

    async def take(self) -> Delivery:
        """Wait for the next entry."""
        while True:
            await self._unpaused.wait()
            take = asyncio.create_task(self._take_once())
            self._takes.add(take)
            try:
                await asyncio.wait((take,))
            except asyncio.CancelledError:
                # It may have a delivery, or get one although it is cancelled.
                take.cancel()
                take.add_done_callback(self._give_back)
                raise
            finally:
                self._takes.discard(take)
            if not take.cancelled() and not isinstance(take.exception(), QueueUnavailable):
                return take.result()

    async def ack(self, delivery: Delivery) -> bool:
        """Acknowledge the delivery.

        If that raises QueueUnavailable, it is done when this process finds the broker again, if it is not too late.
        """
        # Until there is an answer it is open: a process that begins to schedule meanwhile is asked by this call.
        try:
            is_open = bool(await self._member.call("ack", delivery))
        except BaseException:
            self._open_deliveries.end(delivery)
            raise
        else:
            self._open_deliveries.drop(delivery)
        finally:
            self._end_drains()
        return is_open

    async def nack(self, delivery: Delivery, *, is_counted: bool = True, delay_seconds: float = 0.0) -> NackResult:
        """Give the entry back; if that raises QueueUnavailable, it comes back without being counted."""
        self._open_deliveries.drop(delivery)
        try:
            return cast("NackResult", await self._member.call("nack", delivery, is_counted, delay_seconds))
        finally:
            self._end_drains()

    async def renew(self, delivery: Delivery) -> bool:
        """Renew the lease. Return False if it was lost."""
        is_open = bool(await self._member.call("renew", delivery))
        if not is_open:
            self._open_deliveries.drop(delivery)
            self._end_drains()
        return is_open

    async def hold_lane(self, session_id: str, task_id: str) -> bool:
        """Restrict the lane to this task. Return False if another task holds it."""
        return bool(await self._member.call("hold_lane", session_id, task_id))

    async def release_lane(self, session_id: str, task_id: str) -> bool:
        """End the hold of this task. Return False if it does not hold the lane."""
        return bool(await self._member.call("release_lane", session_id, task_id))

    async def remove(self, task_id: str) -> bool:
        """Remove a waiting entry or a dead letter. Return False if there is none."""
        return bool(await self._member.call("remove", task_id))

    async def find_missing(self, entries: Sequence[QueueEntry]) -> list[QueueEntry]:
        """Return the entries whose tasks neither wait nor are in flight nor are dead letters."""
        return cast("list[QueueEntry]", await self._member.call("find_missing", [*entries]))

    async def position(self, task_id: str) -> int | None:
        """Return the number of entries that are delivered before the task; None if it does not wait."""
        return cast("int | None", await self._member.call("position", task_id))

    async def estimate_position(self, entry: QueueEntry) -> int:
        """Return the position that a new `run` would get."""
        return int(await self._member.call("estimate_position", entry))

    async def pause(self) -> None:
        """Take nothing in this process until `resume`; others go on."""
        await super().pause()
        await self._cancel_takes()

    async def list_dead_letters(self) -> list[DeadLetter]:
        """Return the dead letters, oldest first."""
        return cast("list[DeadLetter]", await self._member.call("list_dead_letters"))

    async def retry_dead_letter(self, task_id: str) -> bool:
        """Enqueue a dead letter as a new entry. Return False if there is none."""
        return bool(await self._member.call("retry_dead_letter", task_id))

    async def statistics(self) -> QueueStatistics:
        """Return the numbers of all processes; `reserved` and `paused` are of this one."""
        found = cast("QueueStatistics", await self._member.call("statistics"))
        return replace(found, reserved=self._counts.reserved, paused=self._is_paused)

    @property
    def _has_open_deliveries(self) -> bool:
        return bool(self._open_deliveries)

    def _check_admission(self, owner: str) -> None:
        """Raise QueueFull if the owner may not reserve a slot: by the entries themselves if this process schedules."""
        counts, coordinator = self._counts, self._member.coordinator
        try:
            if coordinator is not None:
                coordinator.queue.check_admission(owner, counts.reserved_by)
            else:
                self._check_by_beat(owner, self._member.beat)
        except QueueFull as error:
            raise self._refuse(error) from None

    def _check_by_beat(self, owner: str, beat: Heartbeat) -> None:
        counts = self._counts
        own, total = beat.owners.get(owner, 0) + counts.reserved_by[owner], beat.waiting + counts.reserved
        if not may_enter(own, total, counts.capacity, counts.owner_share):
            over_share = own if total < counts.capacity else None
            raise QueueFull(counts.capacity, beat.retry_after_seconds, owner_waiting=over_share)

    def _refuse(self, error: QueueFull) -> QueueFull:
        """Return the error for the sender; while this process is paused, it promises nothing soon."""
        if not self._is_paused:
            return error
        return QueueFull(error.capacity, MAX_RETRY_AFTER_SECONDS, owner_waiting=error.owner_waiting)

    def _build_coordinator(self, connection: BrokerConnection, member_id: str, beat: Heartbeat) -> Coordinator:
        queue = ScheduledQueue(
            self._counts.capacity,
            max_deliveries=self._max_deliveries,
            owner_share=self._counts.owner_share,
            clock=self._clock,
            delivered_before=beat.delivered,
        )
        queue.raise_tokens(beat.token)
        return Coordinator(connection, member_id, queue, self._clock, self._lease_seconds, self._refresh_seconds)

    async def _take_once(self) -> Delivery:
        delivery = cast("Delivery", await self._member.call("take", seconds=None))
        self._open_deliveries.add(delivery)
        return delivery

    def _restart_takes(self) -> None:
        """Let those who take ask again, if they may: another process schedules, or this one has paused."""
        for take in self._takes:
            take.cancel()

    async def _cancel_takes(self) -> None:
        """End all takes; what one of them has got at this moment is delivered."""
        takes = [*self._takes]
        self._restart_takes()
        if takes:
            await asyncio.wait(takes)

    def _give_back(self, take: asyncio.Task[Delivery]) -> None:
        """Give back what came for a taker that has gone."""
        if take.cancelled() or take.exception() is not None:
            return
        self._returns.start(self._return(take.result()))

    async def _return(self, delivery: Delivery) -> None:
        try:
            await self.nack(delivery, is_counted=False)
        except QueueUnavailable:
            return  # this process does not claim it any more, so it is given back when the broker is there


def build_rabbitmq_queue(services: Services, owner_share: float) -> TaskQueue:
    """Build the queue of `Queue.Url`. Raises SettingsError without it."""
    settings = services.settings.section(QueueSettings)
    url = settings.url.resolve(os.environ) if settings.url is not None else None
    if url is None:
        raise SettingsError(["Queue.Url: the backend RabbitMq needs the URL of its server"])
    options = read_options(services, owner_share)
    return RabbitMqQueue(url, settings.name, clock=services.clock, **options)


def describe_broker(url: str) -> str:
    """Return the broker's address without its secrets."""
    parts = urlsplit(url)
    return f"RabbitMQ at {parts.hostname or 'localhost'}:{parts.port or (5671 if parts.scheme == 'amqps' else 5672)}"
