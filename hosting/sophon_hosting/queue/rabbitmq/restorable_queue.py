"""Restorable queue: the queue in memory of the process that schedules, filled from the records of the broker."""

import itertools
from collections.abc import Generator, Mapping
from contextlib import contextmanager

from sophon.clock import Clock
from sophon_hosting.queue.contract import DeadLetter, Delivery, QueueEntry
from sophon_hosting.queue.in_memory import MemoryQueue
from sophon_hosting.queue.lanes import QueueItem
from sophon_hosting.queue.rabbitmq.records import TaskRecord


class ScheduledQueue(MemoryQueue):
    """MemoryQueue that can be restored in the middle of its work, and tells what a record must hold."""

    def __init__(
        self, capacity: int, *, max_deliveries: int, owner_share: float, clock: Clock, delivered_before: int
    ) -> None:
        super().__init__(capacity, max_deliveries=max_deliveries, owner_share=owner_share, clock=clock)
        self._delivered = delivered_before
        self._greatest = 0

    @property
    def newest_token(self) -> int:
        """A token that is at least as great as all that were delivered."""
        return max(self._in_flight, default=self._greatest)

    def raise_tokens(self, greatest: int) -> None:
        """Make all further fencing tokens greater than this one."""
        self._greatest = max(next(self._tokens), greatest)
        self._tokens = itertools.count(self._greatest + 1)

    async def put_beside(self, entry: QueueEntry, reserved: Mapping[str, int], *, force: bool) -> int:
        """Put an entry as `put` does, with slots that a process has reserved, by owner."""
        with self._counting(reserved):
            return await self.put(entry, force=force)

    def check_admission(self, owner: str, reserved: Mapping[str, int]) -> None:
        """Raise QueueFull if the owner may not reserve a slot beside those of a process."""
        with self._counting(reserved):
            if not self._owners.has_room(owner):
                raise self._refuse(owner)

    def hold_now(self, session_id: str, task_id: str) -> None:
        """Hold a lane, as a predecessor did."""
        self._scheduler.hold_lane(session_id, task_id)

    def is_known(self, entry: QueueEntry) -> bool:
        """Whether the task waits, is in flight, or has a dead letter."""
        return self._is_known(entry)

    @property
    def capacity(self) -> int:
        """Maximum number of waiting entries."""
        return self._capacity

    @property
    def waiting_count(self) -> int:
        """Number of waiting entries."""
        return len(self._waiting)

    @property
    def delivered_total(self) -> int:
        """Number of deliveries."""
        return self._delivered

    def restore(self, record: TaskRecord) -> None:
        """Let the entry of a record wait, behind what waits already; a known task is not changed."""
        if record.entry.task_id in self._waiting or self.find_delivered(record.entry) is not None:
            return
        item = QueueItem(record.entry, deliveries=record.deliveries)
        self._start_waiting(item, front=False)
        age = max(self._clock.now().timestamp() - record.since, 0.0) if record.since else 0.0
        item.since = self._clock.monotonic() - age
        self._wake()

    def adopt(self, record: TaskRecord) -> Delivery | None:
        """Regard the record's delivery as open; return it, or None if another one of the session is."""
        lane = self._scheduler.lanes.get(record.entry.session_id)
        if lane is not None and lane.in_flight is not None:
            return None
        item = QueueItem(record.entry, self._clock.monotonic(), record.deliveries)
        self._scheduler.adopt(item)
        self._in_flight[record.token] = item
        return Delivery(record.entry, record.token, record.deliveries)

    def restore_dead_letter(self, letter: DeadLetter) -> None:
        """Add a dead letter that the broker keeps."""
        self._dead_letters.add(letter.entry, letter.delivery_count, letter.died_at)

    def is_dead(self, task_id: str) -> bool:
        """Whether the task has a dead letter."""
        return task_id in self._dead_letters

    def find_waiting(self, task_id: str) -> QueueItem | None:
        """Return the waiting item of a task, or None."""
        return self._waiting.get(task_id)

    def find_delivered(self, entry: QueueEntry) -> QueueItem | None:
        """Return the item of the task in flight, or None."""
        return self._find_in_flight(entry)

    def count_owners(self) -> dict[str, int]:
        """Return the number of waiting entries of each owner."""
        return self._owners.by_owner()

    def estimate_retry_after_seconds(self) -> int:
        """Return the estimated seconds until an entry leaves a full queue."""
        return self._drain_rate.estimate_retry_after_seconds(len(self._in_flight), 1)

    @contextmanager
    def _counting(self, reserved: Mapping[str, int]) -> Generator[None]:
        """Count the slots of a process as its own; nothing suspends meanwhile."""
        owners = [owner for owner, count in reserved.items() for _ in range(count)]
        for owner in owners:
            self._owners.add(owner)
        try:
            yield
        finally:
            for owner in owners:
                self._owners.remove(owner)
