"""What every queue with a server promises when it goes away: a clear error, no hang, and it goes on afterwards."""

import asyncio
from collections.abc import Iterator

import pytest

from sophon_hosting.queue.contract import QueueEntry
from sophon_hosting.queue.errors import QueueUnavailable
from tests.hosting.queue.backends.backend import SHORT_LEASE_SECONDS, Options, OwnServer

NEEDS = ("instances",)


def run(task: str) -> QueueEntry:
    return QueueEntry(task, task[0])


@pytest.fixture
def server(backend) -> Iterator[OwnServer]:
    with backend.run_own_server() as server:
        yield server


@pytest.fixture
async def own(backend, server):
    """A queue on a server of the test's own, and another process's view of it."""
    options = Options(url=server.url, lease_seconds=SHORT_LEASE_SECONDS)
    queues = [backend.build("own", options) for _ in range(2)]
    for queue in queues:
        await open_when_there(backend, queue)
    yield queues
    for queue in queues:
        await queue.close()


async def open_when_there(backend, queue) -> None:
    """Open it as a host does: a server that has just started may be too slow for the first attempt."""

    async def has_opened() -> bool:
        try:
            await queue.open()
        except QueueUnavailable:
            return False
        return True

    await backend.until(has_opened)


async def put_when_there(backend, queue, entry: QueueEntry) -> None:
    async def has_put() -> bool:
        try:
            await queue.put(entry, force=True)
        except QueueUnavailable:
            return False
        return True

    await backend.until(has_put)


async def test_what_needs_an_absent_server_says_so_without_its_secrets(own, server, backend):
    queue = own[0]
    await queue.put(run("a1"))
    delivery = await backend.finish(queue.take())
    server.stop()
    for work in (
        lambda: queue.put(run("b1")),
        lambda: queue.ack(delivery),
        lambda: queue.nack(delivery),
        lambda: queue.renew(delivery),
        lambda: queue.hold_lane("a", "a1"),
        lambda: queue.find_missing([run("a1")]),
        queue.statistics,
    ):
        with pytest.raises(QueueUnavailable):
            await backend.finish(work())
    queue.reserve().release()


async def test_a_taker_waits_while_the_server_is_away_and_goes_on_when_it_is_back(own, server, backend, taking):
    queue, other = own
    await queue.put(run("a1"))
    await queue.ack(await backend.finish(queue.take()))
    taker = taking(queue)
    server.stop()
    with pytest.raises(QueueUnavailable):
        await backend.finish(queue.put(run("b1")))
    assert not taker.done()
    server.start()
    await put_when_there(backend, other, run("b1"))
    delivery = await backend.finish(taker)
    assert delivery.entry == run("b1")
    assert await queue.ack(delivery)


async def test_a_queue_that_lost_its_memory_takes_all_that_is_put_again(own, server, backend):
    queue, other = own
    for task in ("a1", "a2", "b1"):
        await queue.put(run(task))
    before = await backend.finish(queue.take())
    server.stop()
    server.start()
    for task in ("a1", "a2", "b1"):
        await put_when_there(backend, other, run(task))
    served = []
    while len(served) < 3:
        delivery = await backend.finish(queue.take())
        served.append(delivery.entry.task_id)
        assert delivery.fencing_token > before.fencing_token
        await queue.ack(delivery)
    assert sorted(served) == ["a1", "a2", "b1"]
    assert served.index("a1") < served.index("a2")


async def test_a_drain_ends_when_the_server_is_away(own, server, backend):
    queue = own[0]
    await queue.put(run("a1"))
    delivery = await backend.finish(queue.take())
    drain = asyncio.create_task(queue.drain())
    server.stop()
    with pytest.raises(QueueUnavailable):
        await backend.finish(queue.ack(delivery))
    assert await backend.finish(drain)
