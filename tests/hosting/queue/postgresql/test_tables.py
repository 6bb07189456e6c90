"""The tables of the queue: made by whoever is first, versioned, replaced when they are gone, empty when all is done."""

import asyncio

import pytest

from sophon_hosting.queue.contract import QueueEntry
from sophon_hosting.queue.errors import QueueUnavailable
from sophon_hosting.queue.postgresql.queue import PostgresQueue
from sophon_hosting.store.sql_host_store import SqlHostStore
from tests import postgres
from tests.hosting.queue.postgresql.conftest import remove_queue
from tests.postgres import SERVER, needs_postgres

TABLES = ("entries", "lanes", "owners", "dead", "hosts", "version")


async def test_eight_processes_may_start_at_once(name, make_queue):
    queues = await asyncio.gather(*(make_queue() for _ in range(8)))
    for number, queue in enumerate(queues):
        await queue.put(QueueEntry(f"t{number}", "s"))
    assert (await queues[0].statistics()).waiting == 8


async def test_queues_of_different_names_are_apart(name, make_queue, execute):
    first, other = await make_queue(), PostgresQueue(SERVER, f"{name}_queue")
    await other.open()
    await first.put(QueueEntry("t", "s"))
    assert (await other.statistics()).waiting == 0
    await other.close()
    await execute("UPDATE sophon_queue_version SET version = 0")  # replaced with the next connection
    await execute("ALTER TABLE sophon_queue_queue_dead ADD COLUMN mark integer")
    await make_queue()
    assert await execute("SELECT mark FROM sophon_queue_queue_dead") == []
    await remove_queue(f"{name}_queue")


async def test_tables_of_an_older_version_are_replaced(make_queue, execute):
    queue = await make_queue()
    await queue.put(QueueEntry("t", "s"))
    await execute("UPDATE sophon_queue_version SET version = 0")
    later = await make_queue()
    assert (await later.statistics()).waiting == 0
    assert await execute("SELECT version FROM sophon_queue_version") == [(1,)]


async def test_tables_of_a_newer_version_are_refused_and_left_alone(make_queue, execute):
    queue = await make_queue()
    await queue.put(QueueEntry("t", "s"))
    await execute("UPDATE sophon_queue_version SET version = 99")
    with pytest.raises(QueueUnavailable, match="version 99, newer than this Sophon"):
        await make_queue()
    assert await execute("SELECT count(*) FROM sophon_queue_entries") == [(1,)]


async def test_tables_that_were_dropped_are_made_again(name, make_queue):
    queue = await make_queue()
    await queue.put(QueueEntry("t", "s"))
    await remove_queue(name)
    assert await queue.find_missing([QueueEntry("t", "s")]) == [QueueEntry("t", "s")]
    await queue.put(QueueEntry("t", "s"))
    assert (await queue.take()).entry.task_id == "t"


async def test_nothing_is_left_of_what_is_done(make_queue, execute):
    queue = await make_queue(max_deliveries=2)
    for number in range(30):
        await queue.put(QueueEntry(f"t{number}", f"s{number % 7}", owner=f"o{number % 3}"))
    await queue.hold_lane("s0", "t0")
    for number in range(30):
        delivery = await queue.take()
        if number == 5:
            await queue.nack(delivery)
            delivery = await queue.take()
        if delivery.entry.task_id == "t0":
            await queue.release_lane("s0", "t0")
        await queue.ack(delivery)
    await queue.close()
    counts = {table: (await execute(f"SELECT count(*) FROM sophon_queue_{table}"))[0][0] for table in TABLES}
    assert counts == {"entries": 0, "lanes": 0, "owners": 0, "dead": 0, "hosts": 1, "version": 1}


@needs_postgres
@pytest.mark.parametrize("first", ["queue", "store"])
async def test_queue_and_store_share_a_database_whichever_is_first(first: str, tmp_path):
    postgres.empty()
    queue, store = PostgresQueue(postgres.URL, "shared"), SqlHostStore(postgres.URL, folder=tmp_path)
    for one in (queue, store) if first == "queue" else (store, queue):
        await one.open()
    await queue.put(QueueEntry("t", "s"))
    assert await store.maintenance.find_damage() == []
    await store.close()
    await store.open()
    assert (await queue.take()).entry.task_id == "t"
    await queue.close()
    await store.close()
    postgres.empty()
