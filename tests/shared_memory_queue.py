"""Queue of several hosts of one process: a broker in memory with leases, which can go away and lose its memory."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from sophon.clock import Clock, Timer
from sophon_hosting.queue.contract import DeadLetter, Delivery, NackResult, QueueEntry, QueueStatistics, ReservedSlot
from sophon_hosting.queue.errors import QueueUnavailable
from sophon_hosting.queue.in_memory import MemoryQueue


class SharedMemoryBroker:
    """What the views of one queue share. While it `is_away`, every operation raises QueueUnavailable."""

    def __init__(
        self,
        clock: Clock,
        *,
        capacity: int = 100,
        max_deliveries: int = 5,
        owner_share: float = 1.0,
        lease_seconds: float = 30.0,
    ) -> None:
        self.clock, self.lease_seconds = clock, lease_seconds
        self._options = {"max_deliveries": max_deliveries, "owner_share": owner_share, "clock": clock}
        self._capacity = capacity
        self.core = self._build_core()
        self.is_away = False
        self._leases: dict[int, Timer] = {}
        self._waiters: dict[asyncio.Future[None], None] = {}  # in the order in which they began to wait

    def _build_core(self) -> "_Core":
        return _Core(self._capacity, broker=self, **self._options)

    def flush(self) -> None:
        """Lose all entries, holds and deliveries, as a server without persistence does."""
        tokens = self.core._tokens
        self.core = self._build_core()
        self.core._tokens = tokens
        for timer in self._leases.values():
            timer.cancel()
        self._leases.clear()
        self.wake()

    def set_away(self, is_away: bool) -> None:
        """Let the server go away, or come back with all that it had."""
        self.is_away = is_away
        self.wake()

    def check(self) -> None:
        if self.is_away:
            raise QueueUnavailable("shared memory", "it is away")

    def wake(self) -> None:
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(None)
        self._waiters.clear()

    async def wait(self) -> None:
        waiter = asyncio.get_running_loop().create_future()
        self._waiters[waiter] = None
        try:
            await waiter
        finally:
            self._waiters.pop(waiter, None)

    def lease(self, token: int) -> None:
        """Begin or renew a lease."""
        self.end_lease(token)
        self._leases[token] = self.clock.call_later(self.lease_seconds, partial(self._expire, token))

    def end_lease(self, token: int) -> None:
        if (timer := self._leases.pop(token, None)) is not None:
            timer.cancel()

    def close(self) -> None:
        for timer in self._leases.values():
            timer.cancel()
        self._leases.clear()

    def _expire(self, token: int) -> None:
        self._leases.pop(token, None)
        item = self.core._in_flight.get(token)
        if item is not None:
            nack = self.core.nack(Delivery(item.entry, token, item.deliveries))
            try:
                nack.send(None)  # it does not suspend
            except StopIteration:
                self.wake()


class _Core(MemoryQueue):
    """State of the broker; whoever waits at a view is told of each change."""

    def __init__(self, capacity: int, *, broker: SharedMemoryBroker, **options: object) -> None:
        super().__init__(capacity, **options)
        self._broker = broker

    def _wake(self) -> None:
        super()._wake()
        self._broker.wake()


class SharedMemoryQueue:
    """What one host has of the queue: a pause and a drain are its own, and it can be cut off alone."""

    is_shared = True

    def __init__(self, broker: SharedMemoryBroker) -> None:
        self._broker = broker
        self._paused = False
        self._taken: set[int] = set()
        self._drain: asyncio.Future[bool] | None = None
        self.is_cut_off = False
        """Whether this host alone cannot reach the broker, as one that hangs or was killed."""

    @property
    def lease_seconds(self) -> float:
        return self._broker.lease_seconds

    @property
    def _core(self) -> MemoryQueue:
        self._broker.check()
        if self.is_cut_off:
            raise QueueUnavailable("shared memory", "this host is cut off")
        return self._broker.core

    async def open(self) -> None:
        self._broker.check()

    async def close(self) -> None:
        self._paused = True

    def reserve(self, owner: str = "") -> ReservedSlot:
        core = self._broker.core
        core._paused = self._paused
        try:
            slot = core.reserve(owner)
        finally:
            core._paused = False
        return ReservedSlot(self._admit, slot.release)

    async def _admit(self, entry: QueueEntry) -> int:
        return await self._core._admit(entry)

    async def put(self, entry: QueueEntry, *, force: bool = False) -> int:
        return await self._core.put(entry, force=force)

    async def take(self) -> Delivery:
        while True:
            broker = self._broker
            is_reachable = not (broker.is_away or self.is_cut_off or self._paused)
            if is_reachable and broker.core._scheduler.owners.ready:
                delivery = await broker.core.take()
                broker.lease(delivery.fencing_token)
                self._taken.add(delivery.fencing_token)
                return delivery
            await broker.wait()

    async def ack(self, delivery: Delivery) -> bool:
        self._end(delivery)
        core = self._core
        self._broker.end_lease(delivery.fencing_token)
        return await core.ack(delivery)

    async def nack(self, delivery: Delivery, *, is_counted: bool = True, delay_seconds: float = 0.0) -> NackResult:
        self._end(delivery)
        core = self._core
        self._broker.end_lease(delivery.fencing_token)
        return await core.nack(delivery, is_counted=is_counted, delay_seconds=delay_seconds)

    async def renew(self, delivery: Delivery) -> bool:
        is_held = await self._core.renew(delivery)
        if is_held:
            self._broker.lease(delivery.fencing_token)
        return is_held

    async def hold_lane(self, session_id: str, task_id: str) -> bool:
        return await self._core.hold_lane(session_id, task_id)

    async def release_lane(self, session_id: str, task_id: str) -> bool:
        return await self._core.release_lane(session_id, task_id)

    async def remove(self, task_id: str) -> bool:
        return await self._core.remove(task_id)

    async def find_missing(self, entries: Sequence[QueueEntry]) -> list[QueueEntry]:
        return await self._core.find_missing(entries)

    async def position(self, task_id: str) -> int | None:
        return await self._core.position(task_id)

    async def estimate_position(self, entry: QueueEntry) -> int:
        return await self._core.estimate_position(entry)

    async def pause(self) -> None:
        self._paused = True

    async def resume(self) -> None:
        self._paused = False
        self._end_drain(is_drained=False)
        self._broker.wake()

    async def drain(self) -> bool:
        self._paused = True
        self._taken &= self._broker.core._in_flight.keys()
        if not self._taken:
            return True
        self._drain = self._drain or asyncio.get_running_loop().create_future()
        return await asyncio.shield(self._drain)

    async def list_dead_letters(self) -> list[DeadLetter]:
        return await self._core.list_dead_letters()

    async def retry_dead_letter(self, task_id: str) -> bool:
        return await self._core.retry_dead_letter(task_id)

    async def statistics(self) -> QueueStatistics:
        return replace(await self._core.statistics(), paused=self._paused)

    def _end(self, delivery: Delivery) -> None:
        self._taken.discard(delivery.fencing_token)
        if not self._taken:
            self._end_drain(is_drained=True)

    def _end_drain(self, *, is_drained: bool) -> None:
        drain, self._drain = self._drain, None
        if drain is not None and not drain.done():
            drain.set_result(is_drained)
