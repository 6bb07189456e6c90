"""Takers wait without asking: they are woken by a notice, and by a poll where it was lost."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from sophon_hosting.queue.contract import QueueEntry
from sophon_hosting.queue.postgresql import dispatcher
from sophon_hosting.queue.postgresql.queue import PostgresQueue
from tests.hosting.queue.postgresql.conftest import until

NEVER = 3600.0


@pytest.fixture
def is_idle(execute) -> Callable[[], Awaitable[bool]]:
    async def is_idle() -> bool:
        return await execute("SELECT is_idle FROM sophon_queue_hosts WHERE host <> ''") == [(True,)]

    return is_idle


@pytest.fixture
def no_polls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dispatcher, "POLL_SECONDS", NEVER)
    monkeypatch.setattr(dispatcher, "SWEEP_SECONDS", NEVER)


@pytest.mark.parametrize("way", ["put", "resume", "nack", "ack", "release", "retry"])
async def test_a_taker_of_another_process_is_woken_by_whatever_makes_a_lane_ready(
    make_queue, no_polls, is_idle, way: str
):
    here, there = await make_queue(max_deliveries=1 if way == "retry" else 5), await make_queue()
    task = QueueEntry("t", "s")
    delivery = None
    if way in ("nack", "ack", "retry"):
        await here.put(task)
        delivery = await here.take()
    if way == "ack":
        await here.put(QueueEntry("t2", "s"))
    if way == "retry":
        await here.nack(delivery)
    if way == "release":
        await here.hold_lane("s", "t0")
        await here.put(task)
    await here._dispatcher.close()  # only the other one is a host that takes
    await here._run(here._statements.forget_host, here._host)
    taker = asyncio.create_task(there.take())
    await until(is_idle)
    await {
        "put": lambda: here.put(task),
        "resume": lambda: here.put(QueueEntry("t", "s", "resume")),
        "nack": lambda: here.nack(delivery),
        "ack": lambda: here.ack(delivery),
        "release": lambda: here.release_lane("s", "t0"),
        "retry": lambda: here.retry_dead_letter("t"),
    }[way]()
    async with asyncio.timeout(60):
        assert (await taker).entry.session_id == "s"


class Silent(PostgresQueue):
    """One whose notices are lost."""

    @property
    def _wakes(self) -> bool:
        return False


async def test_a_poll_makes_up_for_a_lost_notice(make_queue, is_idle, monkeypatch):
    monkeypatch.setattr(dispatcher, "POLL_SECONDS", 0.2)
    silent, there = await make_queue(kind=Silent), await make_queue()
    taker = asyncio.create_task(there.take())
    await until(is_idle)
    await silent.put(QueueEntry("t", "s"))
    async with asyncio.timeout(60):
        assert (await taker).entry.task_id == "t"


async def test_without_notice_and_poll_nobody_wakes(make_queue, no_polls, is_idle):
    """The tests above show something."""
    silent, there = await make_queue(kind=Silent), await make_queue()
    taker = asyncio.create_task(there.take())
    await until(is_idle)
    await silent.put(QueueEntry("t", "s"))
    for _ in range(20):
        await there.statistics()
    assert not taker.done()
    taker.cancel()


async def test_one_notice_wakes_one_process(make_queue, no_polls, execute):
    here = await make_queue()
    hosts = [await make_queue() for _ in range(3)]
    takers = [asyncio.create_task(queue.take()) for queue in hosts]

    async def idle(count: int) -> bool:
        return await execute("SELECT count(*) FROM sophon_queue_hosts WHERE is_idle") == [(count,)]

    await until(lambda: idle(3))
    await here.put(QueueEntry("t", "s"))
    await asyncio.wait(takers, timeout=60, return_when=asyncio.FIRST_COMPLETED)
    assert await idle(2)
    assert [taker.done() for taker in takers].count(True) == 1
    for taker in takers:
        taker.cancel()


async def test_a_delay_ends_by_itself_also_in_another_process(make_queue, monkeypatch):
    here, there = await make_queue(), await make_queue()
    await here.put(QueueEntry("t", "s"))
    delivery = await here.take()
    taker = asyncio.create_task(there.take())
    assert await here.nack(delivery, is_counted=False, delay_seconds=0.3) == "waiting"
    await here.close()
    async with asyncio.timeout(60):
        again = await taker
    assert (again.entry, again.delivery_count) == (delivery.entry, 1)


async def test_what_a_process_has_taken_for_nobody_goes_back_when_it_closes(make_queue):
    here, there = await make_queue(), await make_queue()
    await there.put(QueueEntry("t", "s"))
    takers = [asyncio.create_task(here.take()) for _ in range(3)]
    await asyncio.sleep(0)
    for taker in takers:
        taker.cancel()
    await asyncio.gather(*takers, return_exceptions=True)
    await here.close()
    async with asyncio.timeout(60):
        assert (await there.take()).delivery_count == 1
