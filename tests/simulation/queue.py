"""Queue of several simulated processes: a server with leases, at the other end of a slow and lossy network.

What a request asks for happens, or does not, whatever its sender hears: an answer that is lost is an error.
"""

import asyncio
from collections.abc import Coroutine, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from sophon.testing.simulation.process import CURRENT_PROCESS
from sophon_hosting.queue.contract import DeadLetter, Delivery, NackResult, QueueEntry, QueueStatistics, ReservedSlot
from sophon_hosting.queue.errors import QueueUnavailable
from tests.shared_memory_queue import SharedMemoryBroker, SharedMemoryQueue

if TYPE_CHECKING:
    from tests.simulation.world import World

T = TypeVar("T")

LONGEST_SECONDS = 0.02


class SimulatedQueue(SharedMemoryQueue):
    """What one process has of the queue; a share of `lost_answers` is not heard."""

    def __init__(self, broker: SharedMemoryBroker, world: "World") -> None:
        super().__init__(broker)
        self._world = world
        self._slots: dict[ReservedSlot, None] = {}
        self.lost_answers = 0.0

    def die(self) -> None:
        """Reach the server no more: the process is dead, and what it had reserved in its memory with it."""
        self.is_cut_off = True
        for slot in [*self._slots]:
            slot.release()

    def reserve(self, owner: str = "") -> ReservedSlot:
        inner = super().reserve(owner)
        self._slots[inner] = None

        def end() -> None:
            self._slots.pop(inner, None)
            inner.release()

        return ReservedSlot(self._admit, end)

    async def _ask(self, request: Coroutine[Any, Any, T]) -> T:
        try:
            await self._travel()
        except BaseException:
            request.close()
            raise
        answer = await request
        await self._travel()
        if self._world.loop.random.random() < self.lost_answers:
            raise QueueUnavailable("the simulated queue", "its answer was lost")
        return answer

    async def _travel(self) -> None:
        await asyncio.sleep(LONGEST_SECONDS * self._world.loop.random.random() ** 3)

    async def _admit(self, entry: QueueEntry) -> int:
        return await self._ask(super()._admit(entry))

    async def put(self, entry: QueueEntry, *, force: bool = False) -> int:
        return await self._ask(super().put(entry, force=force))

    async def take(self) -> Delivery:
        while True:
            delivery = await super().take()
            await self._travel()
            if self._world.loop.random.random() >= self.lost_answers:
                return delivery
            self._taken.discard(delivery.fencing_token)  # its lease ends

    async def ack(self, delivery: Delivery) -> bool:
        is_open = await self._ask(super().ack(delivery))
        self._world.reach("ack", CURRENT_PROCESS.get())
        return is_open

    async def nack(self, delivery: Delivery, *, is_counted: bool = True, delay_seconds: float = 0.0) -> NackResult:
        return await self._ask(super().nack(delivery, is_counted=is_counted, delay_seconds=delay_seconds))

    async def renew(self, delivery: Delivery) -> bool:
        return await self._ask(super().renew(delivery))

    async def hold_lane(self, session_id: str, task_id: str) -> bool:
        return await self._ask(super().hold_lane(session_id, task_id))

    async def release_lane(self, session_id: str, task_id: str) -> bool:
        return await self._ask(super().release_lane(session_id, task_id))

    async def remove(self, task_id: str) -> bool:
        return await self._ask(super().remove(task_id))

    async def find_missing(self, entries: Sequence[QueueEntry]) -> list[QueueEntry]:
        return await self._ask(super().find_missing(entries))

    async def position(self, task_id: str) -> int | None:
        return await self._ask(super().position(task_id))

    async def estimate_position(self, entry: QueueEntry) -> int:
        return await self._ask(super().estimate_position(entry))

    async def list_dead_letters(self) -> list[DeadLetter]:
        return await self._ask(super().list_dead_letters())

    async def statistics(self) -> QueueStatistics:
        return await self._ask(super().statistics())
