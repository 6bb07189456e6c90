"""Tasks through the queue in PostgreSQL, beside the bare client that makes the same calls in the same run."""

import asyncio
import itertools
import statistics
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Protocol

from psycopg import AsyncConnection

from sophon_hosting.queue.contract import QueueEntry
from sophon_hosting.queue.postgresql.connection import connect, to_conninfo
from sophon_hosting.queue.postgresql.queue import PostgresQueue
from sophon_hosting.queue.postgresql.schema import drop_schema
from sophon_hosting.queue.postgresql.sql_statements import build_statements
from tests.postgres_cluster import find_programs, running_cluster

REPETITIONS = 7
CALLS = 300
"""Tasks of a repetition."""

DEPTHS = (100, 1_000, 10_000)
WORKERS = (1, 2, 4)
SESSIONS, OWNERS = 40, 10
PART = 500
NAME = "bench"


class Worker(Protocol):
    async def task(self, number: int) -> None:
        """Put a task, take one, and acknowledge it."""
        ...


def entry_of(number: int) -> QueueEntry:
    return QueueEntry(f"t{number}", f"s{number % SESSIONS}", owner=f"o{number % OWNERS}")


class Ours:
    """One process of the queue, with as many workers as tasks at once."""

    def __init__(self, queue: PostgresQueue) -> None:
        self._queue = queue

    async def task(self, number: int) -> None:
        await self._queue.put(entry_of(number), force=True)
        await self._queue.ack(await self._queue.take())


class Bare:
    """A bare connection of psycopg, one per worker."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection, self._statements = connection, build_statements(NAME)

    async def task(self, number: int) -> None:
        entry, statements = entry_of(number), self._statements
        await self._call(statements.put, entry.task_id, entry.session_id, False, entry.owner, False, None, 1.0, 0, 0)
        [taken] = await self._call(statements.take, "bare", 1, 30.0, None)
        await self._call(statements.ack, taken[1], taken[4], False)

    async def _call(self, statement: bytes, *values: object) -> list[tuple[object, ...]]:
        return await (await self._connection.execute(statement, values)).fetchall()


@asynccontextmanager
async def both(url: str, depth: int, workers: int) -> AsyncGenerator[dict[str, list[Worker]]]:
    """Yield so many workers of each kind over a queue in which so many tasks of others wait."""
    queue = PostgresQueue(url, NAME, capacity=100_000)
    await queue.open()
    for begin in range(0, depth, PART):
        waiting = (QueueEntry(f"d{n}", f"d{n}", owner=f"o{n % OWNERS}") for n in range(begin, min(begin + PART, depth)))
        await asyncio.gather(*(queue.put(entry, force=True) for entry in waiting))
    bare = [await connect(to_conninfo(url), NAME) for _ in range(workers)]
    ours = Ours(queue)
    try:
        yield {"ours": [ours] * workers, "bare": [Bare(each) for each in bare]}
    finally:
        await queue.close()
        await drop_schema(bare[0], NAME)
        for connection in bare:
            await connection.close()


async def tasks_per_second(url: str, depth: int, workers: int) -> dict[str, float]:
    """Return the medians of interleaved repetitions; wall time, because the server works in other processes."""
    numbers = itertools.count(1_000_000)
    samples: dict[str, list[float]] = {"ours": [], "bare": []}

    async def work(worker: Worker) -> None:
        for _ in range(CALLS // workers):
            await worker.task(next(numbers))

    async with both(url, depth, workers) as kinds:
        for _ in range(REPETITIONS):
            for name, each in kinds.items():
                began = time.perf_counter()
                await asyncio.gather(*(work(worker) for worker in each))
                samples[name].append(CALLS // workers * workers / (time.perf_counter() - began))
    return {name: statistics.median(values) for name, values in samples.items()}


Line = Callable[[str, float, str, str, float], None]


async def measure(line: Line) -> None:
    """Print tasks a second by workers, and by the number of tasks that wait."""
    programs = find_programs()
    if programs is None:
        print("needs the programs of PostgreSQL")
        return
    with running_cluster(programs) as cluster:
        for workers in WORKERS:
            found = await tasks_per_second(cluster.url, 0, workers)
            line(f"tasks a second, PostgreSQL, {workers} workers", found["ours"], "", "bare psycopg", found["bare"])
        for depth in DEPTHS:
            found = await tasks_per_second(cluster.url, depth, 4)
            line(f"tasks a second behind {depth:,}, 4 workers", found["ours"], "", "bare psycopg", found["bare"])
