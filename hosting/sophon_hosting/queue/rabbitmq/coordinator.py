"""Coordinator: the one process that schedules the entries of all; the broker tells which one by what it delivers."""

import asyncio
import logging
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import replace
from typing import Any

from sophon.clock import Clock
from sophon_hosting.background_tasks import BackgroundTasks
from sophon_hosting.queue.contract import DeadLetter, Delivery, NackResult, QueueEntry, QueueStatistics
from sophon_hosting.queue.errors import QueueFull, QueueUnavailable
from sophon_hosting.queue.rabbitmq.connection import BrokerConnection, BrokerError, NoSuchQueue, PublishRefused
from sophon_hosting.queue.rabbitmq.dead_letter_queue import DeadLetterQueue
from sophon_hosting.queue.rabbitmq.delivery_leases import Leases
from sophon_hosting.queue.rabbitmq.record_log import RecordLog
from sophon_hosting.queue.rabbitmq.records import HoldRecord, StoredRecord, TaskRecord, sort_records
from sophon_hosting.queue.rabbitmq.restorable_queue import ScheduledQueue
from sophon_hosting.queue.rabbitmq.scheduler_heartbeat import Heartbeat
from sophon_hosting.queue.rabbitmq.topology import MAX_ENTRIES

log = logging.getLogger("sophon")


class Coordinator:
    """Scheduler of the entries, with the operations of `TaskQueue`, each also for another process.

    The queue in memory decides; the record log keeps on the broker what a successor needs. An entry that was in flight
    with a predecessor stays in flight until its process greets and claims it, or its lease expires. All raise
    BrokerError, `put` PublishRefused if the broker's queue is full, and QueueFull.
    """

    def __init__(
        self,
        connection: BrokerConnection,
        member_id: str,
        queue: ScheduledQueue,
        clock: Clock,
        lease_seconds: float,
        refresh_seconds: float,
    ) -> None:
        self.queue, self.member_id = queue, member_id
        self._connection, self._refresh_seconds = connection, refresh_seconds
        self._record_log = RecordLog(connection, member_id)
        self._dead = DeadLetterQueue(connection)
        self._leases = Leases(lease_seconds)
        self._records = EntryRecords(self._record_log, self._dead, self._leases, queue, clock)
        self._work = BackgroundWork()
        self.is_serving = False

    # What the broker delivers.

    def on_record(self, message_id: str, stored: StoredRecord, tag: int, deliveries: int) -> None:
        """Take a record: one that was written here, or that a predecessor has left."""
        is_new = self._record_log.on_arrival(message_id, stored, tag, deliveries)
        if is_new and self.is_serving:
            self._records.restore([stored.record])

    async def start(self) -> None:
        """Begin to serve; call it when all records of the predecessors have arrived. Raises BrokerError."""
        for letter in await self._dead.read():
            self.queue.restore_dead_letter(letter)
        self._records.restore(self._record_log.list_records())
        self.is_serving = True

    def stop(self) -> None:
        """End what runs in the background; the connection has ended."""
        self.is_serving = False
        self._work.cancel()

    def claim(self, member_id: str, open_deliveries: Sequence[Delivery], ended: Sequence[Delivery]) -> list[int]:
        """Take the greeting of a process: its open deliveries, and those that it could not acknowledge.

        Return the tokens of the open deliveries that are stale. Deliveries to it that it does not know were lost on
        the way; they are given back.
        """
        now = _now()
        for delivery in ended:
            self._work.attempt(self.ack(delivery))
        known = {each.fencing_token for each in (*open_deliveries, *ended)}
        for lost in self._leases.list_deliveries(member_id):
            if lost.fencing_token not in known:
                self._work.attempt(self.nack(lost, is_counted=False))
        return [
            each.fencing_token for each in open_deliveries if not self._leases.renew(each.fencing_token, member_id, now)
        ]

    async def tick(self) -> None:
        """End the expired leases, write old records anew, and look for processes that are gone. Raises BrokerError."""
        now = _now()
        for delivery in self._leases.list_expired(now):
            log.warning("the lease of task %s has expired", delivery.entry.task_id)
            await self.nack(delivery)
        for member_id in self._leases.list_members():
            if member_id != self.member_id:
                self._work.attempt(self._check(member_id))
        for record in self._record_log.list_records(older_than_seconds=self._refresh_seconds):
            await self._record_log.write(record)

    # The operations.

    async def put(self, entry: QueueEntry, *, force: bool, reserved: Mapping[str, int]) -> int:
        """Put the entry, beside the slots that its process has reserved, by owner; see `TaskQueue.put`."""
        is_new = bool(await self.queue.find_missing([entry]))
        if is_new and len(self._record_log) >= MAX_ENTRIES:
            raise BrokerError(f"it holds {MAX_ENTRIES} entries; the store keeps the rest until it has drained")
        position = await self.queue.put_beside(entry, reserved, force=force)
        try:
            await self._records.sync(entry)
        except BaseException as error:
            if is_new:
                await self.queue.remove(entry.task_id)
                self._sync_later(entry)
            if isinstance(error, PublishRefused) and not force:
                raise QueueFull(self.queue.capacity, self.queue.estimate_retry_after_seconds()) from error
            raise
        return position

    async def take(self, member_id: str) -> Delivery:
        """Wait for the next entry for a process. A cancelled call takes nothing."""
        delivery = await self.queue.take()
        self._leases.grant(delivery, member_id, _now())
        try:
            await self._records.sync(delivery.entry)
        except BaseException:
            await self.nack(delivery, is_counted=False)
            raise
        return delivery

    async def ack(self, delivery: Delivery) -> bool:
        """Acknowledge; see `TaskQueue.ack`."""
        if not await self.queue.ack(delivery):
            return False
        self._leases.end(delivery.fencing_token)
        self._sync_later(delivery.entry)
        return True

    async def nack(self, delivery: Delivery, *, is_counted: bool = True, delay_seconds: float = 0.0) -> NackResult:
        """Give back; see `TaskQueue.nack`."""
        outcome = await self.queue.nack(delivery, is_counted=is_counted, delay_seconds=delay_seconds)
        if outcome == "stale":
            return outcome
        self._leases.end(delivery.fencing_token)
        if outcome == "dead":
            await self._records.bury(delivery.entry)
        else:
            self._sync_later(delivery.entry)
        return outcome

    async def renew(self, delivery: Delivery, member_id: str) -> bool:
        """Renew the lease; see `TaskQueue.renew`."""
        return self._leases.renew(delivery.fencing_token, member_id, _now())

    async def hold_lane(self, session_id: str, task_id: str) -> bool:
        """Hold the lane; see `TaskQueue.hold_lane`."""
        if not await self.queue.hold_lane(session_id, task_id):
            return False
        record = HoldRecord(session_id, task_id)
        if self._record_log.find(record.key) != record:
            await self._record_log.write(record)
        return True

    async def release_lane(self, session_id: str, task_id: str) -> bool:
        """Release the lane; see `TaskQueue.release_lane`."""
        is_freed = await self.queue.release_lane(session_id, task_id)
        if is_freed:
            self._record_log.discard(("hold", session_id))
        return is_freed

    async def remove(self, task_id: str) -> bool:
        """Remove what waits, or a dead letter; see `TaskQueue.remove`."""
        item = self.queue.find_waiting(task_id)
        is_removed = await self.queue.remove(task_id)
        if item is not None:
            self._sync_later(item.entry)
        elif is_removed:
            await self._dead.remove(task_id)
        return is_removed

    async def find_missing(self, entries: Sequence[QueueEntry]) -> list[QueueEntry]:
        """Return what is not here; see `TaskQueue.find_missing`."""
        return await self.queue.find_missing(entries)

    async def position(self, task_id: str) -> int | None:
        """Return the position; see `TaskQueue.position`."""
        return await self.queue.position(task_id)

    async def estimate_position(self, entry: QueueEntry) -> int:
        """Return the position of a new entry; see `TaskQueue.estimate_position`."""
        return await self.queue.estimate_position(entry)

    async def list_dead_letters(self) -> list[DeadLetter]:
        """Return the dead letters; see `TaskQueue.list_dead_letters`."""
        return await self.queue.list_dead_letters()

    async def retry_dead_letter(self, task_id: str) -> bool:
        """Enqueue a dead letter; see `TaskQueue.retry_dead_letter`."""
        if not await self.queue.retry_dead_letter(task_id):
            return False
        item = self.queue.find_waiting(task_id)
        if item is not None:
            await self._records.sync(item.entry)
        await self._dead.remove(task_id)
        return True

    async def statistics(self) -> QueueStatistics:
        """Return the numbers of all processes."""
        return await self.queue.statistics()

    async def confirm(self) -> None:
        """Wait until the broker has what was acknowledged, and shows that it is there. Raises BrokerError."""
        await self._connection.flush(self.member_id)

    def beat(self) -> Heartbeat:
        """Return the numbers that the other processes are told, as of now."""
        return Heartbeat.of(self.queue)

    def _sync_later(self, entry: QueueEntry) -> None:
        """Let the broker keep of a task what it is now, without waiting for a write."""
        if not self._records.discard_ended(entry):
            self._work.attempt(self._records.sync(entry))

    async def _check(self, member_id: str) -> None:
        """Let the leases of a process without a connection end early; it may come back and claim them."""
        try:
            await self._connection.send(member_id, b"{}")
        except NoSuchQueue:
            self._leases.shorten(member_id, _now() + self._leases.seconds / 3)


def _now() -> float:
    return asyncio.get_running_loop().time()


class EntryRecords:
    """What the record log must hold of each entry of the scheduled queue, so that a successor can go on."""

    def __init__(
        self, record_log: RecordLog, dead: DeadLetterQueue, leases: Leases, queue: ScheduledQueue, clock: Clock
    ) -> None:
        self._record_log, self._dead, self._leases = record_log, dead, leases
        self._queue, self._clock = queue, clock
        self._orders = 0

    def restore(self, records: Sequence[TaskRecord | HoldRecord]) -> None:
        """Fill the queue from records: held lanes, then what was in flight, then what waits."""
        tasks = [each for each in records if isinstance(each, TaskRecord)]
        self._orders = max([self._orders, *(each.order for each in tasks)])
        self._queue.raise_tokens(max((each.token for each in tasks), default=0))
        for each in records:
            if isinstance(each, HoldRecord):
                self._queue.hold_now(each.session_id, each.task_id)
        waiting: list[TaskRecord] = []
        for record in sorted(tasks, key=lambda each: each.token, reverse=True):
            delivery = self._queue.adopt(record) if record.token and not self._queue.is_known(record.entry) else None
            if delivery is None:
                waiting.append(record)
                continue
            self._leases.grant(delivery, record.holder, asyncio.get_running_loop().time())
            if record.has_resume:
                waiting.append(replace(record, entry=replace(record.entry, kind="resume"), deliveries=0))
        for record in sort_records(waiting):
            if not self._queue.is_dead(record.entry.task_id):
                self._queue.restore(record)
            else:  # its predecessor fell between the dead letter and the acknowledgement
                self._record_log.discard(record.key)

    def _describe(self, entry: QueueEntry) -> TaskRecord | None:
        """Return what the record of a task must hold now; None if it needs none."""
        delivered, waiting = self._queue.find_delivered(entry), self._queue.find_waiting(entry.task_id)
        item = delivered or waiting
        if item is None:
            return None
        known = self._record_log.find(("task", entry.task_id))
        if not isinstance(known, TaskRecord):
            self._orders += 1
            known = TaskRecord(item.entry, self._orders, since=self._clock.now().timestamp())
        if delivered is not None:
            lease = self._leases.find_of_task(entry.task_id)
            return replace(
                known,
                entry=item.entry,
                deliveries=item.deliveries,
                token=lease.delivery.fencing_token,
                holder=lease.member_id,
                has_resume=waiting is not None,
            )
        if (known.entry, known.deliveries, known.has_resume) == (item.entry, item.deliveries, False):
            return known  # given back: a successor finds out by its lease, which is cheaper than a write
        return replace(known, entry=item.entry, deliveries=item.deliveries, token=0, holder="", has_resume=False)

    async def sync(self, entry: QueueEntry) -> None:
        """Let the broker keep of a task what it is now; wait for a write, not for an acknowledgement.

        Raises BrokerError.
        """
        record = self._describe(entry)
        if record is None:
            self._record_log.discard(("task", entry.task_id))
        elif record != self._record_log.find(record.key):
            await self._record_log.write(record)

    def discard_ended(self, entry: QueueEntry) -> bool:
        """Acknowledge the record of a task that needs none any more. Return False if it needs one."""
        if self._describe(entry) is not None:
            return False
        self._record_log.discard(("task", entry.task_id))
        return True

    async def bury(self, entry: QueueEntry) -> None:
        """Move the record of a task to the dead letters, and end the hold of its lane."""
        hold = self._record_log.find(("hold", entry.session_id))
        if isinstance(hold, HoldRecord) and hold.task_id == entry.task_id:
            self._record_log.discard(hold.key)
        letter = next(each for each in await self._queue.list_dead_letters() if each.entry.task_id == entry.task_id)
        await self._dead.add(letter)
        self._record_log.discard(("task", entry.task_id))


class BackgroundWork(BackgroundTasks):
    """Background tasks that may fail because the broker cannot be reached."""

    def attempt(self, work: Coroutine[Any, Any, object]) -> None:
        """Run it; that the broker cannot be reached is only logged."""
        task = self.start(_ignore_trouble(work))
        task.add_done_callback(lambda _: work.close())  # if it was cancelled before it began


async def _ignore_trouble(work: Coroutine[Any, Any, object]) -> None:
    try:
        await work
    except (BrokerError, QueueUnavailable) as error:
        log.debug("the queue's broker did not take a message: %s", error)
