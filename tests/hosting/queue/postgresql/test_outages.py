"""The server is away, comes back, or breaks connections: bounded waiting, nothing taken is lost, tokens only grow."""

import asyncio

import pytest

from sophon_hosting.queue.contract import QueueEntry
from sophon_hosting.queue.errors import QueueUnavailable
from sophon_hosting.queue.postgresql import server_calls as operations
from sophon_hosting.queue.postgresql.queue import PostgresQueue
from tests.hosting.queue.postgresql.conftest import until


@pytest.fixture
async def queue(cluster):
    queue = PostgresQueue(cluster.url, "away", lease_seconds=2.0)
    await queue.open()
    yield queue
    await queue.close()


async def fails(work) -> bool:
    try:
        await work
    except QueueUnavailable:
        return True
    return False


async def test_without_a_server_operations_fail_in_bounded_time_and_a_take_waits(queue, cluster, monkeypatch):
    monkeypatch.setattr(operations, "OUTAGE_SECONDS", 0.2)
    taker = asyncio.create_task(queue.take())
    await asyncio.to_thread(cluster.stop)
    async with asyncio.timeout(operations.ANSWER_SECONDS + 5):
        for work in (
            queue.put(QueueEntry("t", "s")),
            queue.statistics(),
            queue.find_missing([QueueEntry("t", "s")]),
            queue.hold_lane("s", "t"),
        ):
            assert await fails(work)
    assert not taker.done()
    queue.reserve().release()  # decided without the server
    await asyncio.to_thread(cluster.start)

    async def is_put() -> bool:
        return not await fails(queue.put(QueueEntry("t", "s")))

    await until(is_put)
    async with asyncio.timeout(60):
        delivery = await taker
    assert delivery.entry == QueueEntry("t", "s")


async def test_a_queue_whose_server_is_not_there_says_so_without_the_password():
    queue = PostgresQueue("postgresql://sophon:hunter2@127.0.0.1:1/none")
    with pytest.raises(QueueUnavailable) as refusal:
        await queue.open()
    assert "127.0.0.1" in str(refusal.value)
    assert "hunter2" not in str(refusal.value)


async def test_a_restart_while_nothing_is_sent_costs_no_operation(queue, cluster):
    await queue.put(QueueEntry("t1", "s"))
    await asyncio.to_thread(cluster.stop)
    await asyncio.to_thread(cluster.start)
    await queue.put(QueueEntry("t2", "s"))
    assert await queue.find_missing([QueueEntry("t2", "s")]) == []


async def test_tokens_grow_through_crashes_that_lose_commits(queue, cluster):
    tokens = []
    for number in range(3):
        for task in range(20):
            await queue.put(QueueEntry(f"t{number}-{task}", f"s{number}-{task}"), force=True)
        async with asyncio.timeout(60):
            tokens += [(await queue.take()).fencing_token for _ in range(5)]
        await asyncio.to_thread(cluster.stop)  # at once, as a crash: what was not flushed is lost
        await asyncio.to_thread(cluster.start)
    assert tokens == sorted(set(tokens))


async def test_a_delivery_outlives_the_connection_that_took_it(queue, cluster):
    await queue.put(QueueEntry("t", "s"))
    delivery = await queue.take()
    other = PostgresQueue(cluster.url, "away")
    await other.open()
    await other._run(b"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()")
    assert await queue.renew(delivery)
    assert await queue.ack(delivery)
    await other.close()


async def test_a_server_that_has_become_a_standby_is_an_outage_and_is_connected_to_again(queue):
    await queue.put(QueueEntry("t", "s"))
    delivery = await queue.take()
    await queue._run(b"SELECT set_config('default_transaction_read_only', 'on', false)")  # of this connection alone
    with pytest.raises(QueueUnavailable, match="read-only"):
        await queue.ack(delivery)
    assert await queue.ack(delivery)


async def test_a_statement_that_fails_harms_none_that_was_sent_with_it(queue):
    bad = queue._run(b"SELECT 1 / %s::int", 0)
    results = await asyncio.gather(
        queue.put(QueueEntry("t1", "s1")), bad, queue.put(QueueEntry("t2", "s2")), return_exceptions=True
    )
    assert results[0] == 0
    assert "division by zero" in str(results[1])
    assert results[2] == 1
    assert (await queue.statistics()).waiting == 2
