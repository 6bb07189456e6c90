"""Records of the entries on the broker: written as the queue in memory changes, and the queue restored from them."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from sophon.clock import Clock
from sophon_hosting.queue.contract import QueueEntry
from sophon_hosting.queue.rabbitmq.dead_letter_queue import DeadLetterQueue
from sophon_hosting.queue.rabbitmq.leases import Leases
from sophon_hosting.queue.rabbitmq.ledger import Ledger
from sophon_hosting.queue.rabbitmq.records import HoldRecord, TaskRecord, sort_records
from sophon_hosting.queue.rabbitmq.scheduled_queue import ScheduledQueue


class EntryRecords:
    """What the ledger must hold of each entry of the scheduled queue, so that a successor can go on."""

    def __init__(
        self, ledger: Ledger, dead: DeadLetterQueue, leases: Leases, queue: ScheduledQueue, clock: Clock
    ) -> None:
        self._ledger, self._dead, self._leases = ledger, dead, leases
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
                self._ledger.discard(record.key)

    def _describe(self, entry: QueueEntry) -> TaskRecord | None:
        """Return what the record of a task must hold now; None if it needs none."""
        delivered, waiting = self._queue.find_delivered(entry), self._queue.find_waiting(entry.task_id)
        item = delivered or waiting
        if item is None:
            return None
        known = self._ledger.find(("task", entry.task_id))
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
            self._ledger.discard(("task", entry.task_id))
        elif record != self._ledger.find(record.key):
            await self._ledger.write(record)

    def discard_ended(self, entry: QueueEntry) -> bool:
        """Acknowledge the record of a task that needs none any more. Return False if it needs one."""
        if self._describe(entry) is not None:
            return False
        self._ledger.discard(("task", entry.task_id))
        return True

    async def bury(self, entry: QueueEntry) -> None:
        """Move the record of a task to the dead letters, and end the hold of its lane."""
        hold = self._ledger.find(("hold", entry.session_id))
        if isinstance(hold, HoldRecord) and hold.task_id == entry.task_id:
            self._ledger.discard(hold.key)
        letter = next(each for each in await self._queue.list_dead_letters() if each.entry.task_id == entry.task_id)
        await self._dead.add(letter)
        self._ledger.discard(("task", entry.task_id))
