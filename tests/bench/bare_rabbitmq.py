"""The commands of a task in RabbitMQ by a bare aio-pika client, without a queue's rules."""

import asyncio
from collections.abc import Awaitable, Callable

import aio_pika
from aio_pika.abc import AbstractChannel, AbstractIncomingMessage

from sophon_hosting.queue.contract import QueueEntry
from sophon_hosting.queue.rabbitmq.records import StoredRecord, TaskRecord, encode_record
from sophon_hosting.queue.rabbitmq.topology import PREFETCH, Topology
from tests.rabbitmq_queues import delete_queues

NAME = "t_bench_bare"
Cycle = Callable[[int], Awaitable[None]]


class BareClient:
    """Publishes with confirms to the quorum queue that the tasks of Sophon are in, and consumes it."""

    def __init__(self, channels: tuple[AbstractChannel, AbstractChannel], topology: Topology) -> None:
        self._consuming, self._publishing = channels
        self._topology = topology
        self._arrivals: dict[str, asyncio.Future[AbstractIncomingMessage]] = {}
        self._written = 0

    async def begin(self) -> None:
        """Declare the queues and consume the one of the tasks."""
        await self._consuming.set_qos(PREFETCH)
        channel = self._consuming
        dead = await channel.declare_exchange(self._topology.dead, aio_pika.ExchangeType.FANOUT, durable=True)
        members = await channel.declare_exchange(self._topology.members, aio_pika.ExchangeType.FANOUT, durable=True)
        tasks = await channel.declare_queue(
            self._topology.tasks, durable=True, arguments={**self._topology.task_arguments}
        )
        own = await channel.declare_queue(self._topology.member("bare"), exclusive=True, auto_delete=True)
        await (await channel.declare_queue(self._topology.dead, durable=True)).bind(dead)
        await own.bind(members)
        await tasks.consume(self._on_message)
        await own.consume(self._ignore, no_ack=True)

    async def run_cycle(self, number: int) -> None:
        """A put, a take and an ack: two confirmed records that come back, two acks, and a message to oneself."""
        entry = QueueEntry(f"t{number}", f"s{number % 100}", owner=f"o{number % 10}")
        waiting = await self._write(TaskRecord(entry, number, since=1_790_000_000.0), 1)
        taken = TaskRecord(entry, number, 1, number, "0123456789abcdef", since=1_790_000_000.0)
        running = await self._write(taken, 2)
        await waiting.ack()
        await running.ack()
        exchange = self._publishing.default_exchange
        await exchange.publish(aio_pika.Message(b"{}"), self._topology.member("bare"))

    async def _write(self, record: TaskRecord, revision: int) -> AbstractIncomingMessage:
        self._written += 1
        message_id = str(self._written)
        arrival = self._arrivals[message_id] = asyncio.get_running_loop().create_future()
        message = aio_pika.Message(
            encode_record(StoredRecord(record, revision)),
            message_id=message_id,
            delivery_mode=aio_pika.DeliveryMode.PERSISTENT,
        )
        await self._publishing.default_exchange.publish(message, self._topology.tasks)
        return await arrival

    async def _on_message(self, message: AbstractIncomingMessage) -> None:
        self._arrivals.pop(message.message_id or "").set_result(message)

    async def _ignore(self, message: AbstractIncomingMessage) -> None:
        """Do nothing."""


async def measure_bare_client(url: str, work: Callable[[Cycle], Awaitable[float]]) -> float:
    """Return what `work` measures of the bare client's cycle; the queues are deleted afterwards."""
    async with await aio_pika.connect(url) as connection:
        consuming, publishing = [await connection.channel(on_return_raises=True) for _ in range(2)]
        client = BareClient((consuming, publishing), Topology(NAME))
        await client.begin()
        found = await work(client.run_cycle)
    await delete_queues(url, NAME)
    return found
