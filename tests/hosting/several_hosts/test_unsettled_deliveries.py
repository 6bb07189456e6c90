"""A delivery whose end the queue could not be told is over in its process all the same."""

import asyncio

from sophon_hosting.queue.errors import QueueUnavailable
from tests.hosting.several_hosts.conftest import PATIENCE_SECONDS
from tests.shared_memory_queue import SharedMemoryQueue


class LosesConnection(SharedMemoryQueue):
    """A queue whose server goes away when a lane is to be released."""

    async def release_lane(self, session_id: str, task_id: str) -> bool:
        self._broker.set_away(True)
        raise QueueUnavailable("shared memory", "it went away")


async def test_a_drain_does_not_wait_for_a_delivery_that_could_not_be_settled(group) -> None:
    host = await group.join(queue=LosesConnection(group.broker))
    receipt = await group.send(host, "hello")
    await group.ended(receipt)
    async with asyncio.timeout(PATIENCE_SECONDS):
        assert await host.queue.drain()


class Hangs(SharedMemoryQueue):
    """A queue whose server takes requests and answers none."""

    is_hung = False

    async def remove(self, task_id: str) -> bool:
        await self._hang()
        return await super().remove(task_id)

    async def release_lane(self, session_id: str, task_id: str) -> bool:
        await self._hang()
        return await super().release_lane(session_id, task_id)

    async def _hang(self) -> None:
        if self.is_hung:
            await asyncio.get_running_loop().create_future()


async def test_a_cancel_does_not_wait_for_a_queue_that_hangs_and_the_lane_is_released_later(group) -> None:
    queue = Hangs(group.broker)
    host = await group.join(queue=queue)
    receipt = await group.send(host, "Pay Bob")
    await group.suspended(host, receipt)
    queue.is_hung = True
    host.queue_health.note_failure(QueueUnavailable("shared memory", "it hangs"))
    async with asyncio.timeout(PATIENCE_SECONDS):
        assert (await host.cancel(receipt.task_id)).status == "cancelled"
    assert (await queue.statistics()).held_lanes == 1
    queue.is_hung = False
    await group.pass_time(10)
    assert (await queue.statistics()).held_lanes == 0
