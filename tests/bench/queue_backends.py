"""Tasks per second through each queue with a server, beside its bare client that gives the server the same commands."""

import asyncio
import itertools
import os
import time
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from redis.asyncio import Redis

from sophon_hosting.queue.contract import QueueEntry, TaskQueue
from sophon_hosting.queue.redis_streams.connection import load_script
from tests.bench.bare_rabbitmq import measure_bare_client
from tests.hosting.queue.backends.backend import Options, ServerBackend
from tests.hosting.queue.backends.rabbitmq import RabbitMqBackend
from tests.hosting.queue.backends.redis_streams import RedisBackend

SESSIONS = 100
SECONDS = 1.5
RUNS = 3
WORKERS = (1, 2, 4)
DEPTHS = (100, 1000, 10_000)
PUTS_AT_ONCE = 200
Cycle = Callable[[int], Awaitable[None]]


async def bare_redis(url: str, work: Callable[[Cycle], Awaitable[float]]) -> float:
    """The scripts of put, take and ack, by redis-py alone, over a queue of its own."""
    clients: Any = Redis  # its own types are partly unknown
    prefix = f"{{t_bench_bare_{os.getpid()}}}:queue:"
    async with clients.from_url(url, decode_responses=True, protocol=2) as client:
        put, take, ack = (client.register_script(load_script(name).text) for name in ("put", "take", "ack"))
        keys = [f"{prefix}work"]

        async def cycle(number: int) -> None:
            entry = (f"t{number}", f"s{number % SESSIONS}", "run", f"o{number % 10}")
            await put(keys, [prefix, *entry, 1, 100_000, 1.0, 0, 0])
            [taken, *_] = await take(keys, [prefix, "bare", "", 60_000, 5, 0, 0])
            await ack(keys, [prefix, taken[0], taken[4]])

        try:
            return await work(cycle)
        finally:
            await client.delete(*[key async for key in client.scan_iter(match=f"{prefix}*", count=1000)])


BACKENDS: dict[str, tuple[type[ServerBackend], Callable[..., Awaitable[float]]]] = {
    "Redis": (RedisBackend, bare_redis),
    "RabbitMQ": (RabbitMqBackend, measure_bare_client),
}


async def tasks_per_second(cycle: Cycle, workers: int) -> float:
    """Put, take and ack by so many workers at once, for a time."""
    numbers = itertools.count()
    began = time.perf_counter()

    async def work() -> int:
        done = 0
        while time.perf_counter() - began < SECONDS:
            await cycle(next(numbers))
            done += 1
        return done

    counts = await asyncio.gather(*(work() for _ in range(workers)))
    return sum(counts) / (time.perf_counter() - began)


async def through_queue(queue: TaskQueue, workers: int) -> float:
    """The same through a queue, behind what waits there."""

    async def cycle(number: int) -> None:
        await queue.put(QueueEntry(f"t{number}", f"s{number % SESSIONS}", owner=f"o{number % 10}"), force=True)
        await queue.ack(await queue.take())

    return await tasks_per_second(cycle, workers)


async def measure() -> None:
    """Print a line for each number of workers, and for each depth with one worker; the best of some runs of each."""
    for title, (backend_class, bare) in BACKENDS.items():
        if backend_class.find_reason_to_skip() is not None or (url := backend_class.find_url()) is None:
            print(f"{title}: there is no server")
            continue
        for depth, workers in [*((0, workers) for workers in WORKERS), *((depth, 1) for depth in DEPTHS)]:
            ours: list[float] = []
            raw: list[float] = []
            for _ in range(RUNS):
                ours.append(await _ours(backend_class(), depth, workers))
                raw.append(await bare(url, partial(_timed, workers)))
            what = f"{title}: tasks per second, {workers} workers, behind {depth}"
            print(f"{what:<58}{max(ours):>10.0f} /s    {'bare client':<32}{max(raw):>9.0f} /s    ", end="")
            print(f"{max(ours) / max(raw):>7.2f}x")


async def _timed(workers: int, cycle: Cycle) -> float:
    return await tasks_per_second(cycle, workers)


async def _ours(backend: ServerBackend, depth: int, workers: int) -> float:
    name = f"t_bench_{os.getpid()}"
    queue = backend.build(name, Options(capacity=100_000))
    await queue.open()
    try:
        entries = (QueueEntry(f"w{n}", f"s{n % SESSIONS}", owner=f"o{n % 10}") for n in range(depth))
        while batch := list(itertools.islice(entries, PUTS_AT_ONCE)):
            await asyncio.gather(*(queue.put(entry) for entry in batch))
        return await through_queue(queue, workers)
    finally:
        await queue.close()
        await backend.remove(name)
