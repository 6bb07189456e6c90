"""What the queue on Redis does beside the contract: its stream, its consumers, a flush, what goes wrong."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from redis.asyncio import Redis

from sophon.errors import SettingsError
from sophon.services import Services
from sophon_hosting.queue.contract import QueueEntry
from sophon_hosting.queue.errors import QueueUnavailable
from sophon_hosting.queue.queue_factory import build_queue
from sophon_hosting.queue.redis_streams.connection import load_script
from sophon_hosting.queue.redis_streams.queue import RedisStreamsQueue
from tests.hosting.queue import test_leases
from tests.hosting.queue.backends.backend import SHORT_LEASE_SECONDS, Options
from tests.hosting.queue.backends.redis_streams import RedisBackend

NAME = "t_redis_streams"
WORK = f"{{{NAME}}}:queue:work"


def run(task: str) -> QueueEntry:
    return QueueEntry(task, task[0])


@pytest.fixture
def backend() -> RedisBackend:
    if (reason := RedisBackend.find_reason_to_skip()) is not None:
        pytest.skip(reason)
    return RedisBackend()


@pytest.fixture
def server(backend):
    with backend.run_own_server() as server:
        yield server


@pytest.fixture
async def client(server) -> AsyncIterator[Redis]:
    async with Redis.from_url(server.url, decode_responses=True, protocol=2) as client:
        yield client


@pytest.fixture
async def queue(backend, server) -> AsyncIterator[RedisStreamsQueue]:
    queue = backend.build(NAME, Options(url=server.url, lease_seconds=SHORT_LEASE_SECONDS))
    await queue.open()
    yield queue
    await queue.close()


async def test_the_stream_has_what_is_ready_and_in_flight_and_is_empty_after_it(queue, client, backend):
    for task in ("a1", "a2", "b1"):
        await queue.put(run(task))
    assert await client.xlen(WORK) == 2  # a2 is not ready
    for _ in range(3):
        delivery = await backend.finish(queue.take())
        pending = await client.xpending(WORK, "workers")
        assert pending["pending"] == 1
        await queue.ack(delivery)
    assert await client.xlen(WORK) == 0
    left = {key async for key in client.scan_iter()}
    assert left == {WORK, f"{{{NAME}}}:queue:state"}


async def test_a_flush_of_the_server_is_an_empty_queue(queue, client, backend):
    await queue.put(run("a1"))
    before = await backend.finish(queue.take())
    waiting = asyncio.create_task(queue.take())
    await backend.settle(queue)
    await client.flushall()
    await client.script_flush()
    assert not await queue.renew(before)
    assert not await queue.ack(before)
    await queue.put(run("b1"))
    delivery = await backend.finish(waiting)
    assert delivery.entry == run("b1")
    assert delivery.fencing_token > before.fencing_token


async def test_names_of_processes_do_not_pile_up(server, backend, client):
    for _ in range(5):
        queue = backend.build(NAME, Options(url=server.url))
        await queue.open()
        await queue.put(run("a1"))
        await queue.ack(await backend.finish(queue.take()))
        await queue.close()
    assert await client.xinfo_consumers(WORK, "workers") == []


async def test_a_process_that_left_without_a_word_is_forgotten(queue, backend, client, monkeypatch):
    await queue.put(run("a1"))
    delivery = await backend.finish(queue.take())
    await client.xgroup_createconsumer(WORK, "workers", "gone")
    monkeypatch.setattr("sophon_hosting.queue.redis_streams.taking.FORGET_SECONDS", 0.001)
    taker = asyncio.create_task(queue.take())

    async def is_forgotten() -> bool:
        return "gone" not in [each["name"] for each in await client.xinfo_consumers(WORK, "workers")]

    await backend.until(is_forgotten)
    taker.cancel()
    await asyncio.gather(taker, return_exceptions=True)
    assert await queue.ack(delivery)


async def test_a_permit_that_was_read_and_lost_holds_up_nobody(queue, backend, client):
    await queue.put(run("a1"))
    assert await client.xreadgroup("workers", "thief", {WORK: ">"}, count=1)
    delivery = await backend.finish(queue.take())
    assert await queue.ack(delivery)

    async def is_gone() -> bool:
        async with asyncio.timeout(0.2):
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.1):
                    await queue.take()
        return await client.xlen(WORK) == 0

    await backend.until(is_gone)


async def test_a_server_that_hangs_is_told_within_its_time(queue, server, backend):
    await queue.put(run("a1"))
    server.freeze()
    with pytest.raises(QueueUnavailable, match=r"redis://127\.0\.0\.1"):
        await backend.finish(queue.put(run("b1")))
    server.thaw()
    assert (await backend.finish(queue.take())).entry == run("a1")


async def test_many_requests_at_once_wait_for_a_connection(queue, client, backend):
    await asyncio.gather(*(queue.put(QueueEntry(f"t{n}", f"s{n}"), force=True) for n in range(300)))
    assert (await queue.statistics()).waiting == 300
    assert (await client.info("clients"))["connected_clients"] <= 17  # with the one that asks


async def test_a_request_that_is_cancelled_ends(queue):
    """The library takes some cancellations for errors of its connection; a loop that goes on after those never ends."""
    for steps in range(30):

        async def ask_for_ever() -> None:
            while True:
                try:
                    await queue.statistics()
                except QueueUnavailable:
                    continue

        task = asyncio.create_task(ask_for_ever())
        for _ in range(steps):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task], timeout=5)
        assert task.cancelled()


async def test_no_error_tells_the_password():
    queue = RedisStreamsQueue("redis://u:geheim-1234@127.0.0.1:1/0", NAME, capacity=1, max_deliveries=1)
    with pytest.raises(QueueUnavailable) as error:
        await queue.open()
    assert "geheim-1234" not in str(error.value)
    assert "127.0.0.1:1" in str(error.value)
    await queue.close()


@pytest.mark.parametrize("url", ["redis://[", "http://127.0.0.1"])
def test_a_url_of_another_kind_is_refused(url: str):
    with pytest.raises((SettingsError, ValueError)):
        build_queue(Services(settings={"Queue": {"Backend": "Redis", "Url": url}}))


def test_the_settings_build_it():
    queue = build_queue(
        Services(settings={"Queue": {"Backend": "Redis", "Url": "redis://127.0.0.1:6379", "Lease": "00:00:12"}})
    )
    assert isinstance(queue, RedisStreamsQueue)
    assert queue.lease_seconds == 12
    assert queue.is_shared


async def test_without_the_fence_the_suite_is_red(backend, monkeypatch):
    assert "text(flight[5]) ~= token" in load_script("state").text

    def load(name: str):
        script = load_script(name)
        return type(script)(script.text.replace("text(flight[5]) ~= token", "false"), "0" * 40)

    monkeypatch.setattr("sophon_hosting.queue.redis_streams.connection.load_script", load)
    queue = backend.build("t_no_fence", Options(lease_seconds=SHORT_LEASE_SECONDS))
    await queue.open()
    try:
        with pytest.raises(AssertionError):
            await test_leases.test_a_worker_that_hung_gets_its_task_again_only_as_a_new_delivery(
                queue, lambda queue: backend.finish(queue.take())
            )
    finally:
        await queue.close()
        await backend.remove("t_no_fence")
