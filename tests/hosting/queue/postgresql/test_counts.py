"""What is counted of owners and lanes agrees with the entries, whatever eight processes do at the same time."""

import asyncio
import random

import pytest

from sophon_hosting.queue.contract import Delivery, QueueEntry
from sophon_hosting.queue.postgresql.queue import PostgresQueue

SESSIONS = [f"s{number}" for number in range(6)]
STEPS = 60

LANES = """
SELECT l.session_id, l.waiting, l.deliverable, l.is_ready,
    (SELECT count(*) FROM sophon_queue_entries e WHERE e.session_id = l.session_id),
    (SELECT count(*) FROM sophon_queue_entries e
        WHERE e.session_id = l.session_id AND (l.holder IS NULL OR e.task_id = l.holder)),
    l.wake_at IS NULL, l.turn IS NOT NULL
FROM sophon_queue_lanes l
"""
OWNERS = "SELECT owner, total, ready, entries, is_ready, turn IS NOT NULL FROM sophon_queue_owners ORDER BY owner"
RECOUNTED = """
SELECT owner, sum(total)::int, sum(ready)::int, sum(entries)::int, sum(ready) > 0, sum(total) > 0 FROM (
    SELECT owner, deliverable AS total, is_ready::int AS ready, 0 AS entries FROM sophon_queue_lanes
    UNION ALL SELECT owner, 0, 0, 1 FROM sophon_queue_entries
) AS parts GROUP BY owner HAVING sum(total) > 0 OR sum(entries) > 0 ORDER BY owner
"""


class Clumsy:
    """A process that does anything."""

    def __init__(self, queue: PostgresQueue, number: int) -> None:
        self.queue, self.number = queue, number
        self.random = random.Random(number)
        self.open: list[Delivery] = []

    async def work(self) -> None:
        for step in range(STEPS):
            await self.do(step)

    async def do(self, step: int) -> None:
        queue, session = self.queue, self.random.choice(SESSIONS)
        task = f"{session}-{self.random.randrange(8)}"
        # In the same session people take turns, so that its lane changes its owner.
        entry = QueueEntry(task, session, self.random.choice(["run", "run", "resume"]), f"o{task[-1]}")
        act = self.random.randrange(9)
        if act < 3:
            await queue.put(entry, force=True)
        elif act < 5 and not self.open:
            try:
                async with asyncio.timeout(0.05):
                    self.open.append(await queue.take())
            except TimeoutError:
                return
        elif act < 6 and self.open:
            await queue.ack(self.open.pop())
        elif act < 7 and self.open:
            await queue.nack(self.open.pop(), is_counted=self.random.random() < 0.5, delay_seconds=act % 2)
        elif act == 7:
            await self.random.choice([queue.hold_lane, queue.release_lane])(session, task)
        else:
            await self.random.choice([queue.remove, queue.retry_dead_letter, queue.position])(task)


@pytest.mark.parametrize("seed", range(2))
async def test_counts_agree_with_the_entries(make_queue, execute, seed: int):
    queues = [await make_queue(max_deliveries=2) for _ in range(8)]
    async with asyncio.timeout(120):
        await asyncio.gather(*(Clumsy(queue, 8 * seed + n).work() for n, queue in enumerate(queues)))
    for queue in queues:
        await queue.close()
    lanes = await execute(LANES)
    assert [(lane[1], lane[2]) for lane in lanes] == [(lane[4], lane[5]) for lane in lanes]
    assert [lane[3] for lane in lanes] == [lane[5] > 0 and lane[6] for lane in lanes]
    assert [lane[7] for lane in lanes] == [lane[2] > 0 for lane in lanes]
    assert await execute(OWNERS) == await execute(RECOUNTED)
    assert await execute(
        "SELECT count(*) FROM sophon_queue_lanes WHERE waiting = 0 AND holder IS NULL AND wake_at IS NULL"
    ) == [(0,)]


async def test_a_count_that_is_wrong_is_seen(make_queue, execute):
    """The test above shows something."""
    queue = await make_queue()
    await queue.put(QueueEntry("t", "s", owner="ada"))
    assert await execute(OWNERS) == await execute(RECOUNTED)
    await execute("UPDATE sophon_queue_owners SET ready = 2")
    assert await execute(OWNERS) != await execute(RECOUNTED)
