"""Deletion of what a task queue has on a RabbitMQ."""

import aio_pika

from sophon_hosting.queue.rabbitmq.topology import Topology


async def delete_queues(url: str, name: str) -> None:
    """Delete the queues and exchanges of the task queue of this name."""
    topology = Topology(name)
    connection = await aio_pika.connect(url)
    async with connection, connection.channel() as channel:
        for queue in (topology.tasks, topology.dead):
            await channel.queue_delete(queue)
        for exchange in (topology.dead, topology.members):
            await channel.exchange_delete(exchange)
