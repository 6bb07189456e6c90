"""Rows are locked, not tables: who is slow delays its own lane, and the bound is exact however many put."""

import asyncio

import pytest
from psycopg import AsyncConnection

from sophon_hosting.queue.contract import QueueEntry
from sophon_hosting.queue.errors import QueueFull, QueueUnavailable
from sophon_hosting.queue.postgresql.queue import PostgresQueue
from sophon_hosting.queue.postgresql.schema import with_prefix
from tests.postgres import SERVER


async def test_a_lane_that_somebody_has_locked_keeps_no_other_waiting(name, make_queue):
    queue = await make_queue()
    await queue.put(QueueEntry("a1", "a", owner="ada"))
    await queue.put(QueueEntry("b1", "b", owner="ada"))
    await queue.put(QueueEntry("c1", "c", owner="bob"))
    async with await AsyncConnection.connect(SERVER) as other:
        await other.execute(with_prefix("SELECT * FROM sophon_queue_lanes WHERE session_id = 'a' FOR UPDATE", name))
        taken = {(await queue.take()).entry.task_id for _ in range(2)}
        assert taken == {"b1", "c1"}
    assert (await queue.take()).entry.task_id == "a1"


async def test_an_owner_that_somebody_has_locked_keeps_no_other_waiting(name, make_queue):
    queue = await make_queue()
    await queue.put(QueueEntry("a1", "a", owner="ada"))
    await queue.put(QueueEntry("c1", "c", owner="bob"))
    async with await AsyncConnection.connect(SERVER) as other:
        await other.execute(with_prefix("SELECT * FROM sophon_queue_owners WHERE owner = 'ada' FOR UPDATE", name))
        assert (await queue.take()).entry.task_id == "c1"
    assert (await queue.take()).entry.task_id == "a1"


async def fill(queues: list[PostgresQueue]) -> int:
    """Put ten tasks into each, all at once; how many were accepted."""

    async def put(number: int, queue: PostgresQueue) -> int:
        try:
            await queue.put(QueueEntry(f"t{number}", f"s{number}"))
        except QueueFull:
            return 0
        return 1

    works = [put(10 * index + n, queue) for n in range(10) for index, queue in enumerate(queues)]
    return sum(await asyncio.gather(*works))


async def test_eight_processes_fill_the_queue_to_the_last_slot_and_no_further(make_queue):
    queues = [await make_queue(capacity=37) for _ in range(8)]
    assert await fill(queues) == 37
    assert (await queues[0].statistics()).waiting == 37


async def test_without_its_lock_the_bound_is_exceeded(make_queue, execute):
    """The test above shows something: the same queue without the lock of refusable puts."""
    queues = [await make_queue(capacity=1) for _ in range(8)]
    [(source,)] = await execute("SELECT pg_get_functiondef(oid) FROM pg_proc WHERE proname = 'sophon_queue_admit'")
    # Without the lock, each decides by what it saw before the others have committed.
    [(put,)] = await execute("SELECT pg_get_functiondef(oid) FROM pg_proc WHERE proname = 'sophon_queue_put'")
    assert "pg_advisory_xact_lock" in put
    await execute(put.replace("PERFORM pg_advisory_xact_lock", "PERFORM abs"))
    await execute(source.replace("RETURN result;", "PERFORM pg_sleep(0.2); RETURN result;"))
    works = [queue.put(QueueEntry(f"t{n}", f"s{n}")) for n, queue in enumerate(queues)]
    refusals = [each for each in await asyncio.gather(*works, return_exceptions=True) if isinstance(each, QueueFull)]
    assert len(refusals) < 7


async def test_a_deadlock_is_repeated(make_queue, execute, monkeypatch: pytest.MonkeyPatch):
    queue = await make_queue()
    await execute("CREATE SEQUENCE sophon_queue_attempts")
    [(position,)] = await execute("SELECT pg_get_functiondef(oid) FROM pg_proc WHERE proname = 'sophon_queue_position'")
    begin = (
        "BEGIN IF nextval('sophon_queue_attempts') < 3 THEN "
        "RAISE EXCEPTION 'deadlock detected' USING ERRCODE = '40P01'; END IF;"
    )
    await execute(position.replace("BEGIN", begin, 1).replace("STABLE", ""))
    assert await queue.position("t") is None
    assert await execute("SELECT last_value FROM sophon_queue_attempts") == [(3,)]
    await execute("DROP SEQUENCE sophon_queue_attempts")


async def test_a_deadlock_at_each_attempt_is_an_outage(make_queue, execute):
    queue = await make_queue()
    [(ack,)] = await execute("SELECT pg_get_functiondef(oid) FROM pg_proc WHERE proname = 'sophon_queue_ack'")
    broken = "BEGIN RAISE EXCEPTION 'deadlock detected' USING ERRCODE = '40P01';"
    await execute(ack.replace("BEGIN", broken, 1))
    await queue.put(QueueEntry("t", "s"))
    with pytest.raises(QueueUnavailable, match="deadlock detected"):
        await queue.ack(await queue.take())
