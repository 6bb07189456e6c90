"""Base class of the queues of several processes: their options, slots, pause and drain, which are of one process."""

import asyncio
from abc import ABC, abstractmethod
from typing import TypedDict

from sophon.services import Services
from sophon_hosting.queue.contract import QueueEntry, QueueStatistics, ReservedSlot
from sophon_hosting.queue.drain_rate import PendingDrains
from sophon_hosting.queue.in_memory import DEFAULT_CAPACITY, DEFAULT_MAX_DELIVERIES
from sophon_hosting.queue.shared_admission import KnownCounts
from sophon_hosting.settings.queue import QueueSettings

DEFAULT_LEASE_SECONDS = 30.0
"""Default duration of a delivery lease."""


class SharedQueueOptions(TypedDict, total=False):
    """Options of every shared queue; `lease_seconds` is the time without `renew` after which a delivery is lost.

    `capacity`, `max_deliveries` and `owner_share` are those of `MemoryQueue`. All processes have the same.
    """

    capacity: int
    max_deliveries: int
    owner_share: float
    lease_seconds: float


class SharedQueue(ABC):
    """What a process does by itself for a queue that it shares; a subclass adds the operations of `TaskQueue`."""

    def __init__(
        self,
        *,
        capacity: int = DEFAULT_CAPACITY,
        max_deliveries: int = DEFAULT_MAX_DELIVERIES,
        owner_share: float = 1.0,
        lease_seconds: float = DEFAULT_LEASE_SECONDS,
    ) -> None:
        if capacity < 1 or max_deliveries < 1:
            raise ValueError(f"capacity ({capacity}) and max_deliveries ({max_deliveries}) must be at least 1")
        if not 0 < owner_share <= 1:
            raise ValueError(f"owner_share ({owner_share}) must be above 0 and at most 1")
        self._max_deliveries, self._lease_seconds = max_deliveries, lease_seconds
        self._counts = KnownCounts(capacity, owner_share)
        self._unpaused = asyncio.Event()
        self._unpaused.set()
        self._drains = PendingDrains()

    @property
    def is_shared(self) -> bool:
        """True: other processes put into this queue and take from it."""
        return True

    @property
    def lease_seconds(self) -> float | None:
        """Duration of a delivery lease."""
        return self._lease_seconds

    def reserve(self, owner: str = "") -> ReservedSlot:
        """Reserve a slot by the newest counts that this process knows. Raises QueueFull."""
        self._check_admission(owner)
        return ReservedSlot(self._admit, self._counts.reserve(owner))

    @abstractmethod
    async def put(self, entry: QueueEntry, *, force: bool = False) -> int:
        """Enqueue an entry; see `TaskQueue.put`."""

    async def pause(self) -> None:
        """Take nothing in this process until `resume`; others go on."""
        self._unpaused.clear()

    async def resume(self) -> None:
        """Take again; aborts a waiting drain."""
        self._unpaused.set()
        self._drains.end(drained=False)

    async def drain(self) -> bool:
        """Pause, and wait until nothing of this process is in flight. Return False if aborted by `resume`."""
        await self.pause()
        return await self._drains.wait() if self._has_open_deliveries else True

    @property
    @abstractmethod
    def _has_open_deliveries(self) -> bool:
        """Whether a delivery of this process is in flight."""

    @property
    def _is_paused(self) -> bool:
        return not self._unpaused.is_set()

    def _check_admission(self, owner: str) -> None:
        """Raise QueueFull if the owner may not reserve a slot."""
        self._counts.check(owner, is_paused=self._is_paused)

    def _build_statistics(
        self, waiting: int, in_flight: int, held_lanes: int, dead: int, delivered_total: int, oldest_seconds: float
    ) -> QueueStatistics:
        """Return the counts of all processes with the slots and the pause of this one."""
        return QueueStatistics(
            waiting=waiting,
            reserved=self._counts.reserved,
            in_flight=in_flight,
            held_lanes=held_lanes,
            dead=dead,
            capacity=self._counts.capacity,
            paused=self._is_paused,
            delivered_total=delivered_total,
            oldest_waiting_seconds=oldest_seconds,
        )

    def _end_drains(self) -> None:
        """Call it when a delivery has ended: the last one ends the drains."""
        if not self._has_open_deliveries:
            self._drains.end(drained=True)

    async def _admit(self, entry: QueueEntry) -> int:
        return await self.put(entry, force=True)


def read_options(services: Services, owner_share: float) -> SharedQueueOptions:
    """Return the options of the settings (`Queue`)."""
    queue = services.settings.section(QueueSettings)
    return SharedQueueOptions(
        capacity=queue.capacity,
        max_deliveries=queue.max_deliveries,
        owner_share=owner_share,
        lease_seconds=queue.lease.total_seconds(),
    )
