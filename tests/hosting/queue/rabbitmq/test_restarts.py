"""What happens when RabbitMQ itself is killed and started again: while publishing, consuming and acknowledging."""

import asyncio
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from typing import TypeVar

import pytest

from sophon_hosting.queue.contract import Delivery, QueueEntry
from sophon_hosting.queue.errors import QueueUnavailable
from sophon_hosting.queue.rabbitmq.queue import RabbitMqQueue
from tests.hosting.queue.backends.rabbitmq import run_beside
from tests.rabbitmq_server import RabbitMqServer

T = TypeVar("T")

NAME = "restarts"
LEASE_SECONDS, PATIENCE_SECONDS = 20.0, 120
SESSIONS, TASKS_EACH = 10, 4
ENTRIES = [QueueEntry(f"s{n}.{k}", f"s{n}") for k in range(TASKS_EACH) for n in range(SESSIONS)]


@pytest.fixture(scope="module")
def settled_node(node: RabbitMqServer) -> RabbitMqServer:
    """The node after it has written the queue's declaration to its disk.

    A quorum queue of RabbitMQ 3.10 whose node is killed within a second of its declaration finds no leader any more.
    """

    async def declare() -> None:
        queue = RabbitMqQueue(node.url, NAME)
        await queue.open()
        await queue.close()

    run_beside(declare())
    node.shut_down()
    node.start()
    return node


@pytest.fixture
async def queues(settled_node: RabbitMqServer) -> AsyncIterator[list[RabbitMqQueue]]:
    """What two processes have of one queue, open; each test leaves it empty."""
    made = [RabbitMqQueue(settled_node.url, NAME, lease_seconds=LEASE_SECONDS) for _ in range(2)]
    for queue in made:
        await queue.open()
    yield made
    for queue in made:
        await queue.close()


class Group:
    """Producers and workers over both processes, which note what they have done as the store does."""

    def __init__(self, queues: list[RabbitMqQueue], node: RabbitMqServer) -> None:
        self.queues, self.node = queues, node
        self.deliveries: list[Delivery] = []
        self.effects: list[str] = []
        self.retried: set[str] = set()

    async def put_session(self, session: str) -> None:
        """Put the tasks of a session in order, each until it is confirmed or has been done."""
        queue = self.queues[int(session[1:]) % 2]
        for entry in [each for each in ENTRIES if each.session_id == session]:
            while entry.task_id not in self.effects:
                try:
                    await queue.put(entry, force=True)
                    break
                except QueueUnavailable:
                    self.retried.add(entry.task_id)
                    await asyncio.sleep(0)

    async def take(self, number: int) -> Delivery:
        delivery = await self.queues[number % 2].take()
        self.deliveries.append(delivery)
        if delivery.entry.task_id not in self.effects:
            self.effects.append(delivery.entry.task_id)
        return delivery

    async def ack(self, number: int, delivery: Delivery) -> None:
        """Acknowledge; where the broker is away, the queue does it when it finds it again."""
        try:
            assert await self.queues[number % 2].ack(delivery)
        except QueueUnavailable:
            return

    async def work(self, number: int) -> None:
        while len(self.effects) < len(ENTRIES):
            await self.ack(number, await self.take(number))

    async def kill_during(self, works: Iterable[Awaitable[object]]) -> list[asyncio.Task[object]]:
        """Kill the node when the first of these has ended, and start it again; return them all."""
        tasks = [asyncio.ensure_future(each) for each in works]
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        self.node.stop()
        assert not all(task.done() for task in tasks), "nothing was under way"
        await asyncio.to_thread(self.node.start)
        return tasks

    async def finish(self) -> None:
        """Work until every task is done and the queue is empty."""
        workers = [asyncio.create_task(self.work(number)) for number in range(4)]
        while len(self.effects) < len(ENTRIES):
            await asyncio.wait(workers, return_when=asyncio.FIRST_COMPLETED)
            await asyncio.gather(*(worker for worker in workers if worker.done()))
        for worker in workers:
            worker.cancel()
        await asyncio.gather(*workers, return_exceptions=True)

    def check(self) -> None:
        """Nothing is lost, out of order, or delivered twice, except what had to be put again after it was done."""
        assert Counter(self.effects) == Counter(entry.task_id for entry in ENTRIES)
        by_session = defaultdict[str, list[str]](list)
        for task in self.effects:
            by_session[task.partition(".")[0]].append(task)
        assert all(tasks == sorted(tasks) for tasks in by_session.values())
        tokens = [delivery.fencing_token for delivery in self.deliveries]
        assert len(set(tokens)) == len(tokens)
        twice = {task for task, count in Counter(each.entry.task_id for each in self.deliveries).items() if count > 1}
        assert twice <= self.retried


@pytest.fixture
def group(queues: list[RabbitMqQueue], settled_node: RabbitMqServer) -> Group:
    return Group(queues, settled_node)


async def test_a_broker_killed_while_publishing_loses_nothing_and_doubles_nothing(group: Group) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        puts = await group.kill_during(group.put_session(f"s{n}") for n in range(SESSIONS))
        await asyncio.gather(*puts)
        await group.finish()
    group.check()
    assert group.retried


async def test_a_broker_killed_while_consuming_loses_nothing_and_doubles_nothing(group: Group) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        await asyncio.gather(*(group.put_session(f"s{n}") for n in range(SESSIONS)))
        taken = await group.kill_during(group.take(n) for n in range(SESSIONS))
        for number, delivery in enumerate(await asyncio.gather(*taken)):
            assert isinstance(delivery, Delivery)
            await group.ack(number, delivery)
        await group.finish()
    group.check()


async def test_a_broker_killed_while_acknowledging_loses_nothing_and_doubles_nothing(group: Group) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        await asyncio.gather(*(group.put_session(f"s{n}") for n in range(SESSIONS)))
        taken = await asyncio.gather(*(group.take(n) for n in range(SESSIONS)))
        await asyncio.gather(*await group.kill_during(group.ack(n, each) for n, each in enumerate(taken)))
        await group.finish()
        statistics = await group.queues[0].statistics()
    group.check()
    assert (statistics.waiting, statistics.in_flight, statistics.dead) == (0, 0, 0)


async def when_there(work: Callable[[], Awaitable[T]]) -> T:
    """Return what it returns as soon as the broker can be reached."""
    while True:
        try:
            return await work()
        except QueueUnavailable:
            await asyncio.sleep(0)


async def test_a_tag_of_a_former_connection_acknowledges_nothing_of_the_next_one(group: Group) -> None:
    queue = group.queues[0]
    async with asyncio.timeout(PATIENCE_SECONDS):
        for number in range(4):
            await queue.put(QueueEntry(f"t{number}", f"t{number}"))
        delivery = await queue.take()
        for is_open in (True, False):
            group.node.stop()
            await asyncio.to_thread(group.node.start)
            await when_there(queue.statistics)  # an ack while it is away would be repeated by the queue itself
            assert await queue.ack(delivery) is is_open
        rest = [await queue.take() for _ in range(3)]
        for each in rest:
            assert await queue.ack(each)
    assert sorted(each.entry.task_id for each in rest) == ["t1", "t2", "t3"]
    assert delivery.entry.task_id == "t0"
