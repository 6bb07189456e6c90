"""What happens when the process that schedules is killed, or hangs for longer than its heartbeat and comes back."""

import asyncio
import os
import signal
import sys
from typing import Any

import aio_pika
import pytest
from aio_pika.exceptions import DeliveryError

from sophon_hosting.queue.contract import QueueEntry
from sophon_hosting.queue.errors import QueueUnavailable
from sophon_hosting.queue.rabbitmq.coordinator import Coordinator
from sophon_hosting.queue.rabbitmq.queue import RabbitMqQueue
from sophon_hosting.queue.rabbitmq.records import Inquiry, encode_inquiry
from sophon_hosting.queue.rabbitmq.topology import Topology
from tests.hosting.queue.backends.rabbitmq import RabbitMqBackend
from tests.rabbitmq_queues import delete_queues
from tests.rabbitmq_server import find_shared_server

LEASE_SECONDS, PATIENCE_SECONDS = 3.0, 60

LONG_LEASE_SECONDS = 120.0
"""Lease of which the heartbeat is so long that the broker keeps a process that hangs."""


@pytest.fixture
def url() -> str:
    if (reason := RabbitMqBackend.find_reason_to_skip()) is not None:
        pytest.skip(reason)
    found = find_shared_server()
    assert found is not None, "RabbitMQ does not answer"
    return found


@pytest.fixture
async def name(url):
    name = f"lost_{os.getpid()}"
    yield name
    await delete_queues(url, name)


@pytest.mark.parametrize("is_killed", [True, False])
async def test_another_process_goes_on_with_what_the_lost_one_had(url, name, is_killed: bool):
    arguments = ("-m", "tests.hosting.queue.rabbitmq.worker_process", url, name, str(LEASE_SECONDS))
    lost = await asyncio.create_subprocess_exec(sys.executable, *arguments, stdout=asyncio.subprocess.PIPE)
    assert lost.stdout is not None
    queue = RabbitMqQueue(url, name, lease_seconds=LEASE_SECONDS)
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            assert await lost.stdout.readline() == b"a1\n"
            await queue.open()
            lost.send_signal(signal.SIGKILL if is_killed else signal.SIGSTOP)
            deliveries = []
            for _ in range(3):
                deliveries.append(await queue.take())
                assert await queue.ack(deliveries[-1])
            assert [(each.entry.task_id, each.delivery_count) for each in deliveries] == [
                ("b1", 1),
                ("a1", 2),
                ("a2", 1),
            ]
            if not is_killed:
                lost.send_signal(signal.SIGCONT)
                assert await lost.stdout.readline() == b"False\n"
            assert (await queue.statistics()).in_flight == 0
    finally:
        if lost.returncode is None:
            lost.kill()
        await lost.wait()
        await queue.close()


async def test_a_queue_whose_scheduling_process_hangs_is_not_open_until_it_answers(url, name) -> None:
    arguments = ("-m", "tests.hosting.queue.rabbitmq.worker_process", url, name, str(LONG_LEASE_SECONDS))
    hanging = await asyncio.create_subprocess_exec(sys.executable, *arguments, stdout=asyncio.subprocess.PIPE)
    assert hanging.stdout is not None
    queue = RabbitMqQueue(url, name, lease_seconds=LONG_LEASE_SECONDS)
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            assert await hanging.stdout.readline() == b"a1\n"
            hanging.send_signal(signal.SIGSTOP)
            with pytest.raises(QueueUnavailable, match="no process that schedules has answered"):
                await queue.open()
            hanging.send_signal(signal.SIGCONT)
            await queue.open()
            assert (await queue.take()).entry.task_id == "b1"
    finally:
        if hanging.returncode is None:
            hanging.kill()
        await hanging.wait()
        await queue.close()


class CountingQueue(RabbitMqQueue):
    """Counts how often it begins to schedule."""

    starts = 0

    def _build_coordinator(self, *arguments: Any) -> Coordinator:
        coordinator = super()._build_coordinator(*arguments)
        start = coordinator.start

        async def count() -> None:
            self.starts += 1
            await start()

        coordinator.start = count
        return coordinator


async def test_a_process_that_asks_twice_who_schedules_begins_once(url, name) -> None:
    """A second beginning would take what is just being delivered for lost, and give it back behind its taker."""
    queue = CountingQueue(url, name)
    inquiry = encode_inquiry(Inquiry(f"{queue._member.id}.1"))  # pyright: ignore[reportPrivateUsage]
    former = RabbitMqQueue(url, name)  # declares
    await former.open()
    await former.close()
    connection = await aio_pika.connect(url)
    async with asyncio.timeout(PATIENCE_SECONDS), connection, connection.channel() as channel:
        for _ in range(2):
            await channel.default_exchange.publish(aio_pika.Message(inquiry), Topology(name).tasks)
        await queue.open()
        await queue.put(QueueEntry("t", "s"))
        assert await queue.ack(await queue.take())
        await queue.close()
    assert queue.starts == 1


async def test_a_queue_that_nobody_consumes_is_bounded_by_the_broker(url, name):
    topology, accepted = Topology(name, max_length=3), 0
    connection = await aio_pika.connect(url)
    async with connection, connection.channel() as channel:
        await channel.declare_queue(topology.tasks, durable=True, arguments={**topology.task_arguments})
        for _ in range(20):
            try:
                await channel.default_exchange.publish(aio_pika.Message(b"{}"), topology.tasks)
                accepted += 1
            except DeliveryError:
                break
    assert 3 <= accepted <= 3 + 1  # by one publisher
