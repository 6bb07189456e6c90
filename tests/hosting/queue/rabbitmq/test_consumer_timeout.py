"""The consumer time-out of RabbitMQ: nothing stays unacknowledged for so long; where it does, nothing is doubled."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress

import aio_pika
import pytest
from aio_pika.abc import AbstractIncomingMessage

from sophon_hosting.queue.contract import Delivery, QueueEntry
from sophon_hosting.queue.errors import QueueUnavailable
from sophon_hosting.queue.rabbitmq.queue import RabbitMqQueue
from sophon_hosting.queue.rabbitmq.topology import Topology
from tests.hosting.queue.rabbitmq.conftest import make_node
from tests.rabbitmq_server import RabbitMqServer

TIMEOUT_SECONDS = 4.0
LEASE_SECONDS, PATIENCE_SECONDS = 5.0, 90


@pytest.fixture(scope="module")
def impatient_node() -> Iterator[RabbitMqServer]:
    """A node that gives a consumer little time, and looks for late ones often."""
    advanced = f"[{{rabbit, [{{consumer_timeout, {TIMEOUT_SECONDS * 1000:.0f}}}, {{channel_tick_interval, 500}}]}}]."
    yield from make_node(advanced=advanced)


@pytest.fixture
async def make_queue(impatient_node: RabbitMqServer) -> AsyncIterator[Callable[..., RabbitMqQueue]]:
    made: list[RabbitMqQueue] = []

    def make(name: str, refresh_seconds: float) -> RabbitMqQueue:
        topology = Topology(name, consumer_timeout_seconds=TIMEOUT_SECONDS)
        made.append(
            RabbitMqQueue(
                impatient_node.url, topology=topology, refresh_seconds=refresh_seconds, lease_seconds=LEASE_SECONDS
            )
        )
        return made[-1]

    yield make
    for queue in made:
        await queue.close()


async def wait_until_a_late_consumer_is_cut_off(url: str) -> None:
    """Hold a message without acknowledging it until the broker closes the channel, or cancels the consumer (4.3)."""
    is_cut = asyncio.Event()
    async with await aio_pika.connect(url) as connection:
        channel = await connection.channel()
        channel.close_callbacks.add(lambda *_: is_cut.set())
        queue = await channel.declare_queue("witness", durable=True, arguments={"x-queue-type": "quorum"})

        async def hold(_: AbstractIncomingMessage) -> None:
            """Keep the message."""

        await queue.consume(hold)
        (await channel.get_underlay_channel()).on_consumer_cancel_callbacks.add(lambda _: is_cut.set())
        await channel.default_exchange.publish(aio_pika.Message(b"held"), "witness")
        await is_cut.wait()


async def renew_forever(queue: RabbitMqQueue, delivery: Delivery) -> None:
    """Renew the lease as often as the broker answers; without it another worker would get the task."""
    while True:
        with suppress(QueueUnavailable):
            assert await queue.renew(delivery)
        await asyncio.sleep(LEASE_SECONDS / 10)


async def test_nothing_is_held_for_longer_than_the_time_out(make_queue, impatient_node, caplog) -> None:
    queue = make_queue("patient", TIMEOUT_SECONDS / 4)
    await queue.open()
    with caplog.at_level(logging.INFO, "sophon"):
        async with asyncio.timeout(PATIENCE_SECONDS):
            for task in ("a1", "a2", "b1"):
                await queue.put(QueueEntry(task, task[0]))
            assert await queue.hold_lane("b", "b1")
            running = await queue.take()
            renewing = asyncio.create_task(renew_forever(queue, running))
            for _ in range(2):
                await wait_until_a_late_consumer_is_cut_off(impatient_node.url)
            renewing.cancel()
            assert await queue.ack(running)
            rest = [await queue.take() for _ in range(2)]
    assert [each.delivery_count for each in rest] == [1, 1]
    assert not [record for record in caplog.records if "has ended" in record.message]


async def test_without_the_rewriting_the_connection_ends_and_nothing_is_doubled(make_queue, caplog) -> None:
    queue = make_queue("late", 600.0)
    await queue.open()
    with caplog.at_level(logging.INFO, "sophon"):
        async with asyncio.timeout(PATIENCE_SECONDS):
            for task in ("a1", "a2", "b1"):
                await queue.put(QueueEntry(task, task[0]))
            running = await queue.take()
            renewing = asyncio.create_task(renew_forever(queue, running))
            while not [record for record in caplog.records if "has ended" in record.message]:
                await asyncio.sleep(0)
            renewing.cancel()
            assert await queue.ack(running)
            rest, again = [], 0
            while len(rest) < 2:
                delivery = await queue.take()
                if await queue.ack(delivery):
                    rest.append(delivery)
                else:  # the connection has ended once more before the answer
                    again += 1
            statistics = await queue.statistics()
    assert sorted(each.entry.task_id for each in (running, *rest)) == ["a1", "a2", "b1"]
    assert sum(each.delivery_count for each in rest) <= 2 + again
    assert (statistics.waiting, statistics.in_flight, statistics.dead) == (0, 0, 0)
