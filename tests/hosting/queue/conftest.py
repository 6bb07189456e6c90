"""The queues that the suite runs over; a technology joins by a line in QUEUES, and by what it needs to be empty."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from sophon.testing import VirtualClock
from sophon_hosting.queue.contract import Delivery, TaskQueue
from sophon_hosting.queue.memory import MemoryQueue

Construct = Callable[..., TaskQueue]
QUEUES: dict[str, Construct] = {
    "memory": lambda capacity, max_deliveries, clock, owner_share=1.0: MemoryQueue(
        capacity, max_deliveries=max_deliveries, owner_share=owner_share, clock=clock
    )
}
PATIENCE_SECONDS = 60
"""A test that would hang fails instead; one that passes never waits for this."""


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock(auto=False)


@pytest.fixture(params=QUEUES)
def construct(request: pytest.FixtureRequest) -> Construct:
    return QUEUES[request.param]


@pytest.fixture
async def make_queue(construct: Construct, clock: VirtualClock) -> AsyncIterator[Callable[..., Awaitable[TaskQueue]]]:
    made: list[TaskQueue] = []

    async def make(capacity: int = 100, max_deliveries: int = 5, owner_share: float = 1.0) -> TaskQueue:
        made.append(construct(capacity, max_deliveries, clock, owner_share))
        await made[-1].open()
        return made[-1]

    yield make
    for queue in made:
        await queue.close()


@pytest.fixture
async def queue(make_queue: Callable[..., Awaitable[TaskQueue]]) -> TaskQueue:
    return await make_queue()


@pytest.fixture
def settled(clock: VirtualClock) -> Callable[[], Awaitable[None]]:
    """Await it to let everything run that can."""
    return lambda: clock.advance(0)


@pytest.fixture
def take() -> Callable[[TaskQueue], Awaitable[Delivery]]:
    """Take what must be there."""

    async def take(queue: TaskQueue) -> Delivery:
        async with asyncio.timeout(PATIENCE_SECONDS):
            return await queue.take()

    return take


@pytest.fixture
async def taking(take) -> AsyncIterator[Callable[[TaskQueue], "asyncio.Task[Delivery]"]]:
    """Begin to take, in a task that does not outlive the test."""
    begun: list[asyncio.Task[Delivery]] = []

    def begin(queue: TaskQueue) -> asyncio.Task[Delivery]:
        begun.append(asyncio.create_task(take(queue)))
        return begun[-1]

    yield begin
    for task in begun:
        task.cancel()
    await asyncio.gather(*begun, return_exceptions=True)
