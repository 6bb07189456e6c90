"""In-memory task queue for a single-process host; after a restart it is refilled from the store."""

import asyncio
import itertools
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial

from sophon.clock import Clock, SystemClock, Timer
from sophon_hosting.queue.contract import DeadLetter, Delivery, NackResult, QueueEntry, QueueStatistics, ReservedSlot
from sophon_hosting.queue.drain_rate import DrainRate, PendingDrains
from sophon_hosting.queue.errors import QueueFull
from sophon_hosting.queue.lanes import LaneScheduler, QueueItem
from sophon_hosting.queue.owner_share import OwnerCounts

DEFAULT_CAPACITY = 100
"""Default bound of the waiting entries. Source: Sophon's guide, tasks."""

DEFAULT_MAX_DELIVERIES = 5
"""Default number of deliveries before an entry becomes a dead letter."""


class DeadLetters(dict[str, DeadLetter]):
    """Dead letters by task id, oldest first, until they are removed or retried."""

    def add(self, entry: QueueEntry, delivery_count: int, died_at: datetime) -> None:
        """Add the dead letter of an entry."""
        self[entry.task_id] = DeadLetter(entry, delivery_count, died_at)

    def merge(self, entry: QueueEntry) -> None:
        """Merge a new entry of a task that has a dead letter: a resume makes the dead letter a resume."""
        letter = self[entry.task_id]
        if entry.kind == "resume":
            self[entry.task_id] = replace(letter, entry=replace(letter.entry, kind="resume"))


class MemoryQueue:
    """In-memory `TaskQueue`. It needs no delivery leases, because its consumers live in the same process.

    `capacity` bounds the waiting entries, `owner_share` (above 0, at most 1) the part of it that one owner may hold
    while nobody else waits, `max_deliveries` the deliveries of an entry before it becomes a dead letter. Operations
    take O(1), those that return a position O(owners + sessions of the owner). Only `take` and `drain` wait; all others
    complete without suspending, so cancellation cannot interrupt them. Dead letters are kept until they are removed or
    retried. For one event loop; not thread-safe.
    """

    is_shared = False
    """A queue in memory is that of one process."""

    def __init__(
        self,
        capacity: int = DEFAULT_CAPACITY,
        *,
        max_deliveries: int = DEFAULT_MAX_DELIVERIES,
        owner_share: float = 1.0,
        clock: Clock | None = None,
    ) -> None:
        if capacity < 1 or max_deliveries < 1:
            raise ValueError(f"capacity ({capacity}) and max_deliveries ({max_deliveries}) must be at least 1")
        self._capacity, self._max_deliveries = capacity, max_deliveries
        self._clock = clock or SystemClock()
        # Starting at the current time in microseconds makes tokens greater than those of a previous process.
        self._tokens = itertools.count(int(self._clock.now().timestamp() * 1_000_000))
        self._delivered = 0
        self._paused = False
        self._reserved = 0
        self._scheduler = LaneScheduler()
        self._drain_rate = DrainRate()
        self._consumers = WaitingConsumers()
        # In the order in which they began to wait; the first one is the oldest.
        self._waiting: OrderedDict[str, QueueItem] = OrderedDict()
        # Waiting entries and reserved slots.
        self._owners = OwnerCounts(capacity, owner_share)
        self._in_flight: dict[int, QueueItem] = {}
        # Timers of the lanes that deliver nothing until a delay has passed, by the item that was given back.
        self._delays: dict[QueueItem, Timer] = {}
        self._dead_letters = DeadLetters()
        self._drains = PendingDrains()

    @property
    def lease_seconds(self) -> float | None:
        """None: no lease is needed."""
        return None

    async def open(self) -> None:
        """Do nothing."""

    async def close(self) -> None:
        """End the delays; what waits stays."""
        for item, timer in list(self._delays.items()):
            timer.cancel()
            self._end_delay(item)

    def reserve(self, owner: str = "") -> ReservedSlot:
        """Reserve a slot. Raises QueueFull."""
        if not self._owners.has_room(owner):
            raise self._refuse(owner)
        self._reserved += 1
        self._owners.add(owner)
        return ReservedSlot(self._admit, partial(self._end_reservation, owner))

    async def put(self, entry: QueueEntry, *, force: bool = False) -> int:
        """Enqueue an entry and return its position. Raises QueueFull, except for forced, `resume` and known entries."""
        if not (force or entry.kind == "resume" or self._is_known(entry) or self._owners.has_room(entry.owner)):
            raise self._refuse(entry.owner)
        return await self._admit(entry)

    async def take(self) -> Delivery:
        """Wait for the next entry. No await follows the removal, so cancellation cannot lose an entry."""
        while self._paused or (item := self._scheduler.take()) is None:
            await self._consumers.wait()
        self._wake()
        self._stop_waiting(item)
        item.since = self._clock.monotonic()
        item.deliveries += 1
        self._delivered += 1
        token = next(self._tokens)
        self._in_flight[token] = item
        return Delivery(item.entry, token, item.deliveries)

    async def ack(self, delivery: Delivery) -> bool:
        """Acknowledge the delivery. Return False if it had already ended."""
        item = self._in_flight.pop(delivery.fencing_token, None)
        if item is None:
            return False
        self._drain_rate.seconds.append(self._clock.monotonic() - item.since)
        self._finish(item)
        return True

    async def nack(self, delivery: Delivery, *, is_counted: bool = True, delay_seconds: float = 0.0) -> NackResult:
        """Return the entry to the front of its lane or, after the last delivery, to the dead letters."""
        item = self._in_flight.pop(delivery.fencing_token, None)
        if item is None:
            return "stale"
        if not is_counted:
            item.deliveries -= 1
        if (resume := self._discard_waiting(item.entry.task_id)) is not None:
            item.entry = resume.entry
        outcome: NackResult = "dead" if item.deliveries >= self._max_deliveries else "waiting"
        if outcome == "dead":
            self._add_dead_letter(item)
        else:
            self._start_waiting(item, front=True)
        if outcome == "waiting" and delay_seconds > 0:
            self._delays[item] = self._clock.call_later(delay_seconds, partial(self._end_delay, item))
            self._end_drains()
        else:
            self._finish(item)
        return outcome

    async def renew(self, delivery: Delivery) -> bool:
        """Return whether the delivery is still open; there is no lease in memory."""
        return delivery.fencing_token in self._in_flight

    async def hold_lane(self, session_id: str, task_id: str) -> bool:
        """Restrict the session's lane to this task. Return False if another task holds it."""
        return self._scheduler.hold_lane(session_id, task_id)

    async def release_lane(self, session_id: str, task_id: str) -> bool:
        """End the hold of this task. Return False if it does not hold the lane."""
        freed = self._scheduler.release_lane(session_id, task_id)
        self._wake()
        return freed

    async def remove(self, task_id: str) -> bool:
        """Remove a waiting entry or a dead letter. Return False if there is none."""
        return self._discard_waiting(task_id) is not None or self._dead_letters.pop(task_id, None) is not None

    async def find_missing(self, entries: Sequence[QueueEntry]) -> list[QueueEntry]:
        """Return the entries whose tasks neither wait nor are in flight nor are dead letters."""
        return [entry for entry in entries if not self._is_known(entry)]

    async def position(self, task_id: str) -> int | None:
        """Return the number of entries that are delivered before the task; None if it does not wait."""
        item = self._waiting.get(task_id)
        return None if item is None else self._scheduler.position(item)

    async def estimate_position(self, entry: QueueEntry) -> int:
        """Return the position that a new `run` would get."""
        return self._scheduler.position_at_end(entry)

    async def pause(self) -> None:
        """Stop delivering until `resume`."""
        self._paused = True

    async def resume(self) -> None:
        """Deliver again; aborts a waiting drain."""
        self._paused = False
        self._drains.end(drained=False)
        self._wake()

    async def drain(self) -> bool:
        """Pause, and wait until nothing is in flight. Return False if aborted by `resume`."""
        self._paused = True
        if not self._in_flight:
            return True
        return await self._drains.wait()

    async def list_dead_letters(self) -> list[DeadLetter]:
        """Return the dead letters, oldest first."""
        return [*self._dead_letters.values()]

    async def retry_dead_letter(self, task_id: str) -> bool:
        """Enqueue a dead letter as a new entry. Return False if there is none."""
        letter = self._dead_letters.pop(task_id, None)
        if letter is None:
            return False
        self._append(replace(letter.entry, delivered_before=0))
        return True

    async def statistics(self) -> QueueStatistics:
        """Return a snapshot of the queue."""
        oldest = next(iter(self._waiting.values()), None)
        return QueueStatistics(
            waiting=len(self._waiting),
            reserved=self._reserved,
            in_flight=len(self._in_flight),
            held_lanes=self._scheduler.held_count,
            dead=len(self._dead_letters),
            capacity=self._capacity,
            paused=self._paused,
            delivered_total=self._delivered,
            oldest_waiting_seconds=self._clock.monotonic() - oldest.since if oldest else 0.0,
        )

    def _refuse(self, owner: str) -> QueueFull:
        active = 0 if self._paused else len(self._in_flight)
        seconds = self._drain_rate.estimate_retry_after_seconds(active, self._owners.needed_departures(owner))
        return QueueFull(self._capacity, seconds, owner_waiting=self._owners.over_share(owner))

    def _end_reservation(self, owner: str) -> None:
        self._reserved -= 1
        self._owners.remove(owner)

    def _is_known(self, entry: QueueEntry) -> bool:
        if entry.task_id in self._waiting or entry.task_id in self._dead_letters:
            return True
        return self._find_in_flight(entry) is not None

    def _find_in_flight(self, entry: QueueEntry) -> QueueItem | None:
        """Return the item of the entry's task in flight, or None."""
        lane = self._scheduler.lanes.get(entry.session_id)
        item = lane.in_flight if lane is not None else None
        return item if item is not None and item.entry.task_id == entry.task_id and item not in self._delays else None

    async def _admit(self, entry: QueueEntry) -> int:
        """Enqueue an entry regardless of the capacity and return its position; a known task keeps its single entry."""
        if (item := self._waiting.get(entry.task_id)) is not None:
            if entry.kind == "resume":
                item.entry = replace(item.entry, kind="resume")
                self._scheduler.move_to_front(item)
            return self._scheduler.position(item)
        if entry.task_id in self._dead_letters:
            self._dead_letters.merge(entry)
            return 0
        if entry.kind == "run" and self._find_in_flight(entry) is not None:
            return 0
        return self._append(entry)

    def _append(self, entry: QueueEntry) -> int:
        item = QueueItem(entry, deliveries=entry.delivered_before)
        if item.deliveries >= self._max_deliveries:
            self._add_dead_letter(item)
            return 0
        is_resume = entry.kind == "resume"
        position = 0 if is_resume else self._scheduler.position_at_end(entry)
        self._start_waiting(item, front=is_resume)
        self._wake()
        return self._scheduler.position(item) if is_resume else position

    def _start_waiting(self, item: QueueItem, *, front: bool) -> None:
        item.since = self._clock.monotonic()
        self._waiting[item.entry.task_id] = item
        self._owners.add(item.entry.owner)
        self._scheduler.add(item, front=front)

    def _stop_waiting(self, item: QueueItem) -> None:
        del self._waiting[item.entry.task_id]
        self._owners.remove(item.entry.owner)

    def _discard_waiting(self, task_id: str) -> QueueItem | None:
        item = self._waiting.get(task_id)
        if item is not None:
            self._stop_waiting(item)
            self._scheduler.discard(item)
        return item

    def _add_dead_letter(self, item: QueueItem) -> None:
        self._scheduler.release_lane(item.entry.session_id, item.entry.task_id)
        self._dead_letters.add(item.entry, item.deliveries, self._clock.now())

    def _finish(self, item: QueueItem) -> None:
        self._scheduler.finish(item)
        self._wake()
        if self._drains.waiting:
            self._end_drains()

    def _end_drains(self) -> None:
        if not self._in_flight:
            self._drains.end(drained=True)

    def _end_delay(self, item: QueueItem) -> None:
        """Let the lane of an item that was given back deliver again."""
        del self._delays[item]
        self._scheduler.finish(item)
        self._wake()

    def _wake(self) -> None:
        if self._scheduler.owners.ready and not self._paused:
            self._consumers.wake_one()


class WaitingConsumers:
    """FIFO of waiting consumers. A woken consumer fetches its item itself, so cancellation cannot lose one."""

    __slots__ = ("_waiting",)

    def __init__(self) -> None:
        self._waiting: OrderedDict[asyncio.Future[None], None] = OrderedDict()

    async def wait(self) -> None:
        """Wait until woken, possibly spuriously. A consumer cancelled after its wake-up wakes the next one."""
        woken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting[woken] = None
        try:
            await woken
        except BaseException:
            self._waiting.pop(woken, None)
            if woken.done() and not woken.cancelled():
                self.wake_one()
            raise

    def wake_one(self) -> None:
        """Wake the consumer that has waited longest, if any."""
        while self._waiting:
            woken, _ = self._waiting.popitem(last=False)
            if not woken.done():
                woken.set_result(None)
                return
