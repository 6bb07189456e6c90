"""Queues in a PostgreSQL database; each test has a name of its own, whose tables are removed after it."""

import asyncio
import itertools
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator

import pytest
from psycopg import AsyncConnection

from sophon_hosting.queue.postgresql.queue import PostgresQueue
from sophon_hosting.queue.postgresql.schema import drop_schema, with_prefix
from tests.postgres import SERVER
from tests.postgres_cluster import Cluster, find_programs, running_cluster

NUMBERS = itertools.count()
PATIENCE_SECONDS = 60

Execute = Callable[[str], Awaitable[list[tuple[object, ...]]]]


@pytest.fixture
async def name() -> AsyncIterator[str]:
    if not SERVER:
        reason = "SOPHON_TEST_POSTGRES names no PostgreSQL"
        pytest.fail(reason) if os.environ.get("SOPHON_CI") else pytest.skip(reason)
    name = f"p_{os.getpid()}_{next(NUMBERS)}"
    yield name
    await remove_queue(name)


@pytest.fixture
async def make_queue(name: str) -> AsyncIterator[Callable[..., Awaitable[PostgresQueue]]]:
    """Make what one more process has of the queue, open."""
    made: list[PostgresQueue] = []

    async def make(url: str = SERVER, kind: type[PostgresQueue] = PostgresQueue, **options: float) -> PostgresQueue:
        made.append(kind(url, name, **options))
        await made[-1].open()
        return made[-1]

    yield make
    for queue in made:
        await queue.close()


@pytest.fixture
async def execute(name: str) -> AsyncIterator[Execute]:
    """Run SQL in which `sophon_queue_` stands for the prefix of the queue."""
    async with await AsyncConnection.connect(SERVER, autocommit=True) as connection:

        async def execute(sql: str) -> list[tuple[object, ...]]:
            cursor = await connection.execute(with_prefix(sql, name))
            return await cursor.fetchall() if cursor.description else []

        yield execute


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    """A server of the test's own."""
    programs = find_programs()
    if programs is None:
        missing = "needs the programs of PostgreSQL"
        pytest.fail(missing) if os.environ.get("SOPHON_CI") else pytest.skip(missing)
    with running_cluster(programs) as cluster:
        yield cluster


async def until(condition: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not await condition():
            await asyncio.sleep(0.01)


async def remove_queue(name: str) -> None:
    """Drop its tables and functions."""
    async with await AsyncConnection.connect(SERVER, autocommit=True) as connection:
        await drop_schema(connection, name)
