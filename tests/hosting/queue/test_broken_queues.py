"""A queue that breaks what it promises does not pass the suite: for each promise one queue without it."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from sophon_hosting.queue.contract import Delivery, NackResult, TaskQueue
from sophon_hosting.queue.in_memory import MemoryQueue
from tests.hosting.queue import test_ack_and_nack, test_delays, test_lanes
from tests.hosting.queue.backends.memory import MemoryBackend

Law = Callable[..., Awaitable[None]]


class WithoutLanes(MemoryQueue):
    """Delivers the next of a session while one of it runs."""

    async def take(self) -> Delivery:
        delivery = await super().take()
        self._scheduler.finish(self._in_flight[delivery.fencing_token])
        return delivery


class WithoutFence(MemoryQueue):
    """Believes whoever says that a delivery is done."""

    async def ack(self, delivery: Delivery) -> bool:
        await super().ack(delivery)
        return True


class DropsWhatIsGivenBack(MemoryQueue):
    """Takes a nack for an ack."""

    async def nack(self, delivery: Delivery, *, is_counted: bool = True, delay_seconds: float = 0.0) -> NackResult:
        await self.ack(delivery)
        return "waiting"


class ForgetsDelays(MemoryQueue):
    """Delivers at once what was given back for later."""

    async def nack(self, delivery: Delivery, *, is_counted: bool = True, delay_seconds: float = 0.0) -> NackResult:
        return await super().nack(delivery, is_counted=is_counted)


async def _one_in_flight(queue: TaskQueue) -> None:
    backend = MemoryBackend()
    law: Law = test_lanes.test_a_session_has_one_delivery_in_flight
    await law(queue, _take, lambda queue: asyncio.create_task(queue.take()), lambda: backend.settle(queue), backend)


async def _stale(queue: TaskQueue) -> None:
    await test_ack_and_nack.test_a_delivery_that_has_ended_changes_nothing_any_more(queue, _take, "ack")


async def _given_back(queue: TaskQueue) -> None:
    await test_ack_and_nack.test_what_is_given_back_comes_again_before_the_others_of_its_session(queue, _take)


async def _delayed(queue: TaskQueue) -> None:
    await test_delays.test_a_delayed_task_comes_again_after_its_delay_and_not_before(queue, _take, MemoryBackend())


async def _take(queue: TaskQueue) -> Delivery:
    """Take what must be there at once."""
    async with asyncio.timeout(1):
        return await queue.take()


@pytest.mark.parametrize(
    ("broken", "law"),
    [
        (WithoutLanes, _one_in_flight),
        (WithoutFence, _stale),
        (DropsWhatIsGivenBack, _given_back),
        (ForgetsDelays, _delayed),
    ],
)
async def test_a_queue_that_breaks_a_promise_fails(broken: type[MemoryQueue], law: Law) -> None:
    with pytest.raises(AssertionError):
        await law(broken())
