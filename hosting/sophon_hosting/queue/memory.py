"""The task queue of a host that is one process: what waits is in memory, and what was accepted is in the store."""

import asyncio
import itertools
from collections import OrderedDict
from dataclasses import replace

from sophon.clock import Clock, SystemClock
from sophon.errors import QueueFull
from sophon_hosting.queue.acceptance import Acceptance
from sophon_hosting.queue.contract import DeadLetter, Delivery, GivenBack, Place, QueueEntry, QueueStatistics
from sophon_hosting.queue.lanes import Item, Lanes
from sophon_hosting.queue.pace import Pace
from sophon_hosting.queue.takers import Takers

CAPACITY = 100
"""Source: reference/sophon.md 5.15."""

MAX_DELIVERIES = 5


class MemoryQueue:
    """A `TaskQueue` without leases: whoever could lose a delivery dies together with the queue.

    `capacity` bounds the entries that wait, `max_deliveries` how often one is delivered before it is a dead letter.
    Every operation is O(1), those that tell or keep a position O(log n). Only `take` and `drain` ever wait; all others
    are done when they are called, and no cancellation comes between. Dead letters are kept until they are removed or
    retried. For one event loop; not for threads.
    """

    def __init__(
        self, capacity: int = CAPACITY, *, max_deliveries: int = MAX_DELIVERIES, clock: Clock | None = None
    ) -> None:
        if capacity < 1 or max_deliveries < 1:
            raise ValueError(f"capacity ({capacity}) and max_deliveries ({max_deliveries}) are at least 1")
        self._capacity, self._max_deliveries = capacity, max_deliveries
        self._clock = clock or SystemClock()
        # Begun at the date in microseconds, a token is greater than those of the process before.
        self._tokens = itertools.count(int(self._clock.now().timestamp() * 1_000_000))
        self._delivered = 0
        self._paused = False
        self._reserved = 0
        self._lanes = Lanes()
        self._acceptance = Acceptance()
        self._pace = Pace()
        self._takers = Takers()
        # In the order in which they began to wait, for the oldest.
        self._waiting: OrderedDict[str, Item] = OrderedDict()
        self._in_flight: dict[int, Item] = {}
        self._dead: dict[str, DeadLetter] = {}
        self._drains: set[asyncio.Future[bool]] = set()

    async def open(self) -> None:
        """Nothing to connect to."""

    async def close(self) -> None:
        """Nothing to let go of."""

    def reserve(self) -> Place:
        """A place, at once. Raises QueueFull."""
        self._refuse_if_full()
        self._reserved += 1
        return Place(self._admit, self._count_out)

    async def put(self, entry: QueueEntry, *, force: bool = False) -> int:
        """Let an entry in and give its position. Raises QueueFull, unless forced, a resume, or here already."""
        if not (force or entry.kind == "resume" or self._has(entry)):
            self._refuse_if_full()
        return await self._admit(entry)

    async def take(self) -> Delivery:
        """Wait for the next entry. Nothing is awaited once it is taken, so a cancel finds it here or delivered."""
        while self._paused or (item := self._lanes.take()) is None:
            await self._takers.wait()
        self._wake()
        del self._waiting[item.entry.task_id]
        self._acceptance.leave(item.ticket)
        item.since = self._clock.monotonic()
        item.deliveries += 1
        self._delivered += 1
        token = next(self._tokens)
        self._in_flight[token] = item
        return Delivery(item.entry, token, item.deliveries)

    async def ack(self, delivery: Delivery) -> bool:
        """It is done. False for a delivery that had ended before."""
        item = self._in_flight.pop(delivery.token, None)
        if item is None:
            return False
        self._acceptance.close(item.ticket)
        self._pace.completed(self._clock.monotonic() - item.since)
        self._end(item)
        return True

    async def give_back(self, delivery: Delivery) -> GivenBack:
        """To the front of its lane or, the last time, to the dead letters."""
        item = self._in_flight.pop(delivery.token, None)
        if item is None:
            return "stale"
        if (resume := self._take_out(item.entry.task_id)) is not None:
            item.entry = resume.entry
        outcome: GivenBack = "dead" if item.deliveries >= self._max_deliveries else "waiting"
        if outcome == "dead":
            self._bury(item)
        else:
            self._acceptance.come_back(item.ticket)
            self._wait(item, front=True)
        self._end(item)
        return outcome

    async def renew(self, delivery: Delivery) -> bool:
        """Whether it is still open; there is no lease to renew in memory."""
        return delivery.token in self._in_flight

    async def hold(self, session_id: str, task_id: str) -> bool:
        """Deliver nothing but this task of the session; False if another holds it."""
        return self._lanes.hold(session_id, task_id)

    async def free(self, session_id: str, task_id: str) -> bool:
        """End the hold of this task; False if it has none."""
        freed = self._lanes.free(session_id, task_id)
        self._wake()
        return freed

    async def remove(self, task_id: str) -> bool:
        """Forget a waiting entry or a dead letter; False if there is none."""
        return self._take_out(task_id) is not None or self._dead.pop(task_id, None) is not None

    async def position(self, task_id: str) -> int | None:
        """How many waiting entries were accepted before it; None if it does not wait."""
        item = self._waiting.get(task_id)
        return None if item is None else self._acceptance.before(item.ticket)

    async def pause(self) -> None:
        """No more deliveries, until `resume`."""
        self._paused = True

    async def resume(self) -> None:
        """Deliver again; calls off a drain that waits."""
        self._paused = False
        self._end_drains(drained=False)
        self._wake()

    async def drain(self) -> bool:
        """Pause, and wait until nothing is in flight; False if called off by `resume`."""
        self._paused = True
        if not self._in_flight:
            return True
        ended: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._drains.add(ended)
        try:
            return await ended
        finally:
            self._drains.discard(ended)

    async def dead(self) -> list[DeadLetter]:
        """The dead letters, oldest first."""
        return list(self._dead.values())

    async def retry(self, task_id: str) -> bool:
        """Let a dead letter in again as if it were new; False if there is none."""
        letter = self._dead.pop(task_id, None)
        if letter is None:
            return False
        self._enter(letter.entry)
        return True

    async def statistics(self) -> QueueStatistics:
        """The queue at this moment."""
        oldest = next(iter(self._waiting.values()), None)
        return QueueStatistics(
            waiting=len(self._waiting),
            reserved=self._reserved,
            in_flight=len(self._in_flight),
            held_lanes=self._lanes.held,
            dead=len(self._dead),
            capacity=self._capacity,
            paused=self._paused,
            delivered_total=self._delivered,
            oldest_waiting_seconds=self._clock.monotonic() - oldest.since if oldest else 0.0,
        )

    def _refuse_if_full(self) -> None:
        excess = len(self._waiting) + self._reserved - self._capacity + 1
        if excess > 0:
            working = 0 if self._paused else len(self._in_flight)
            raise QueueFull(self._capacity, self._pace.retry_after_seconds(working, excess))

    def _count_out(self) -> None:
        self._reserved -= 1

    def _has(self, entry: QueueEntry) -> bool:
        return entry.task_id in self._waiting or entry.task_id in self._dead or self._is_in_flight(entry)

    def _is_in_flight(self, entry: QueueEntry) -> bool:
        running = self._lanes.running(entry.session_id)
        return running is not None and running.entry.task_id == entry.task_id

    async def _admit(self, entry: QueueEntry) -> int:
        """Let an entry in, however many wait, and give its position; what is here already stays one entry."""
        if (item := self._waiting.get(entry.task_id)) is not None:
            if entry.kind == "resume":
                item.entry = replace(item.entry, kind="resume")
                self._lanes.to_front(item)
            return self._acceptance.before(item.ticket)
        if (letter := self._dead.get(entry.task_id)) is not None:
            if entry.kind == "resume":
                self._dead[entry.task_id] = replace(letter, entry=replace(letter.entry, kind="resume"))
            return 0
        if entry.kind == "run" and self._is_in_flight(entry):
            return 0
        return self._enter(entry)

    def _enter(self, entry: QueueEntry) -> int:
        item = Item(entry, self._acceptance.join(), since=0.0)
        self._wait(item, front=entry.kind == "resume")
        self._wake()
        return self._acceptance.before(item.ticket)

    def _wait(self, item: Item, *, front: bool) -> None:
        item.since = self._clock.monotonic()
        self._waiting[item.entry.task_id] = item
        self._lanes.add(item, front=front)

    def _take_out(self, task_id: str) -> Item | None:
        item = self._waiting.pop(task_id, None)
        if item is not None:
            self._lanes.discard(item)
            self._acceptance.close(item.ticket)
        return item

    def _bury(self, item: Item) -> None:
        self._acceptance.close(item.ticket)
        self._lanes.free(item.entry.session_id, item.entry.task_id)
        self._dead[item.entry.task_id] = DeadLetter(item.entry, item.deliveries, self._clock.now())

    def _end(self, item: Item) -> None:
        self._lanes.finish(item)
        self._wake()
        if not self._in_flight:
            self._end_drains(drained=True)

    def _wake(self) -> None:
        if self._lanes.ready and not self._paused:
            self._takers.wake()

    def _end_drains(self, *, drained: bool) -> None:
        for ended in self._drains:
            if not ended.done():
                ended.set_result(drained)
