"""How long a hint takes from one host to another, beside the bare client doing the same on the same server."""

import asyncio
import os
import statistics
import time
from collections.abc import Awaitable, Callable
from urllib.parse import urlsplit

import psycopg
from redis.asyncio import Redis

from sophon_hosting.fanout.connected_fanout import ConnectedFanout
from sophon_hosting.fanout.contract import HostMessage, SessionAdvanced, WatchStarted
from sophon_hosting.fanout.fanout_transport import FanoutTransport
from sophon_hosting.fanout.postgres_notify import PostgresTransport
from sophon_hosting.fanout.redis_pubsub import RedisTransport

REDIS = os.environ.get("SOPHON_TEST_REDIS", "redis://127.0.0.1:6379/0")
POSTGRES = os.environ.get("SOPHON_TEST_POSTGRES", "")
CHANNEL = "sophon_bench_fanout"
WAIT_SECONDS = 10.0

Engines = dict[str, tuple[Callable[[int], Awaitable[list[float]]], Callable[[int], Awaitable[list[float]]]]]


async def engines() -> Engines:
    """The engines that answer, each with our hint and with the bare one: milliseconds of so many, one at a time."""
    found: Engines = {}
    parts = urlsplit(REDIS)
    try:
        _, writer = await asyncio.open_connection(parts.hostname, parts.port or 6379)
        writer.close()
        found["Redis"] = (lambda times: _ours(lambda: RedisTransport(REDIS, CHANNEL), times), _bare_redis)
    except OSError:
        print("no Redis answers: left out")
    if POSTGRES:
        found["PostgreSQL"] = (lambda times: _ours(lambda: PostgresTransport(POSTGRES, CHANNEL), times), _bare_postgres)
    else:
        print("SOPHON_TEST_POSTGRES names no PostgreSQL: left out")
    return found


def percentile(samples: list[float], share: float) -> float:
    """The sample below which this share of them is."""
    return statistics.quantiles(samples, n=100)[round(share * 100) - 1]


async def _ours(make: Callable[[], FanoutTransport], times: int) -> list[float]:
    here, there = ConnectedFanout(make()), ConnectedFanout(make())
    arrived = asyncio.Event()

    def notice(message: HostMessage) -> None:
        if isinstance(message, SessionAdvanced | WatchStarted):
            arrived.set()

    there.subscribe(notice)
    there.watch_session("s")
    try:
        await there.open()
        await here.open()
        await _wait(arrived)
        while not here.is_connected:
            await asyncio.sleep(0.01)
        samples: list[float] = []
        for number in range(times):
            began = time.perf_counter()
            here.publish(SessionAdvanced("s", number))
            await _wait(arrived)
            samples.append((time.perf_counter() - began) * 1e3)
        return samples
    finally:
        await here.close()
        await there.close()


async def _bare_redis(times: int) -> list[float]:
    client = Redis.from_url(REDIS)  # pyright: ignore[reportUnknownMemberType]
    pubsub = client.pubsub()  # pyright: ignore[reportUnknownMemberType]
    await pubsub.subscribe(CHANNEL)
    await pubsub.get_message(timeout=WAIT_SECONDS)
    samples: list[float] = []
    for number in range(times):
        began = time.perf_counter()
        await client.publish(CHANNEL, f'["advanced",{{"session_id":"s","seq":{number}}}]')  # pyright: ignore[reportUnknownMemberType]
        assert await pubsub.get_message(timeout=WAIT_SECONDS) is not None
        samples.append((time.perf_counter() - began) * 1e3)
    await pubsub.aclose()  # type: ignore[no-untyped-call]
    await client.aclose()
    return samples


async def _bare_postgres(times: int) -> list[float]:
    here = await psycopg.AsyncConnection.connect(POSTGRES, autocommit=True)
    there = await psycopg.AsyncConnection.connect(POSTGRES, autocommit=True)
    await here.execute("SET synchronous_commit = off")
    await there.execute(f"LISTEN {CHANNEL}")
    samples: list[float] = []
    for number in range(times):
        began = time.perf_counter()
        await here.execute("SELECT pg_notify(%s, %s)", (CHANNEL, f'["advanced",{{"session_id":"s","seq":{number}}}]'))
        async for _ in there.notifies(timeout=WAIT_SECONDS, stop_after=1):
            samples.append((time.perf_counter() - began) * 1e3)
    await here.close()
    await there.close()
    return samples


async def _wait(arrived: asyncio.Event) -> None:
    async with asyncio.timeout(WAIT_SECONDS):
        await arrived.wait()
    arrived.clear()
