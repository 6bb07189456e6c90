"""Process that puts three tasks, takes one, and holds it: `python -m ... URL NAME LEASE`. It is killed or stopped."""

import asyncio
import sys

from sophon_hosting.queue.contract import QueueEntry
from sophon_hosting.queue.errors import QueueUnavailable
from sophon_hosting.queue.rabbitmq.queue import RabbitMqQueue


async def work(url: str, name: str, lease_seconds: float) -> None:
    """Renew until the lease is lost, and print what the queue says of an ack then."""
    queue = RabbitMqQueue(url, name, lease_seconds=lease_seconds)
    await queue.open()
    for task in ("a1", "a2", "b1"):
        await queue.put(QueueEntry(task, task[0]))
    delivery = await queue.take()
    print(delivery.entry.task_id, flush=True)
    is_open = True
    while is_open:
        await asyncio.sleep(lease_seconds / 5)
        try:
            is_open = await queue.renew(delivery)
        except QueueUnavailable:  # it finds the broker again
            continue
    print(await queue.ack(delivery), flush=True)
    await queue.close()


if __name__ == "__main__":
    asyncio.run(work(sys.argv[1], sys.argv[2], float(sys.argv[3])))
