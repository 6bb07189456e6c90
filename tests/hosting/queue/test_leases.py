"""What every queue with leases promises about workers that vanish or hang: done once more, and nothing too late."""

import asyncio

import pytest

from sophon_hosting.queue.contract import QueueEntry
from tests.hosting.queue.backends.backend import SHORT_LEASE_SECONDS

NEEDS = ("instances",)


def run(task: str) -> QueueEntry:
    return QueueEntry(task, task[0])


@pytest.fixture
async def short(make_queue):
    return await make_queue(lease_seconds=SHORT_LEASE_SECONDS)


@pytest.fixture
def another_short(another):
    return lambda: another(lease_seconds=SHORT_LEASE_SECONDS)


@pytest.fixture
async def renewing():
    """Renew a delivery as a worker does, until the test is over; the results."""
    tasks = []

    def begin(queue, delivery) -> list[bool]:
        results: list[bool] = []

        async def renew() -> None:
            while True:
                results.append(await queue.renew(delivery))
                await asyncio.sleep(SHORT_LEASE_SECONDS / 5)

        tasks.append(asyncio.create_task(renew()))
        return results

    yield begin
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def test_a_queue_tells_its_lease(short):
    assert short.is_shared
    assert short.lease_seconds == SHORT_LEASE_SECONDS


async def test_what_a_lost_worker_had_is_delivered_again_and_its_own_words_are_too_late(short, another_short, take):
    other = await another_short()
    await short.put(run("a1"))
    lost = await take(short)
    again = await take(other)
    assert (again.entry, again.delivery_count) == (run("a1"), 2)
    assert again.fencing_token > lost.fencing_token
    assert not await short.renew(lost)
    assert await short.nack(lost) == "stale"
    assert not await short.ack(lost)
    assert await other.renew(again)
    assert await other.ack(again)


async def test_a_worker_that_hung_gets_its_task_again_only_as_a_new_delivery(short, take):
    await short.put(run("a1"))
    lost = await take(short)
    again = await take(short)
    assert again.delivery_count == 2
    assert not await short.ack(lost)
    assert await short.ack(again)


async def test_a_lost_task_comes_before_what_follows_in_its_session(short, another_short, take):
    for task in ("a1", "a2"):
        await short.put(run(task))
    await take(short)
    other = await another_short()
    again = await take(other)
    assert again.entry == run("a1")
    await other.ack(again)
    assert (await take(other)).entry == run("a2")


async def test_a_lease_that_is_renewed_is_not_lost(short, another_short, take, taking, backend, renewing):
    for task in ("a1", "b1"):
        await short.put(run(task))
    renewed, lost = await take(short), await take(short)
    results = renewing(short, renewed)
    other = await another_short()
    taken = await take(other)
    assert (taken.entry, taken.delivery_count) == (lost.entry, 2)  # so a lease has passed since
    again = taking(other)
    assert (await backend.finish(again)).entry == lost.entry  # and another one
    assert all(results)
    assert await short.ack(renewed)


async def test_what_kills_its_workers_becomes_a_dead_letter(make_queue, take, backend):
    queue = await make_queue(max_deliveries=2, lease_seconds=SHORT_LEASE_SECONDS)
    await queue.put(run("a1"))
    await queue.put(run("a2"))
    assert [(await take(queue)).delivery_count for _ in range(2)] == [1, 2]
    following = await take(queue)
    assert (following.entry, following.delivery_count) == (run("a2"), 1)
    assert [(letter.entry, letter.delivery_count) for letter in await queue.list_dead_letters()] == [(run("a1"), 2)]


async def test_a_hold_outlives_the_worker_that_asked_for_it(short, another_short, take):
    for task in ("a1", "a2"):
        await short.put(run(task))
    await take(short)
    assert await short.hold_lane("a", "a1")
    other = await another_short()
    again = await take(other)
    assert again.entry == run("a1")
    await other.ack(again)
    await other.put(run("b1"))
    assert (await take(other)).entry == run("b1")
    assert await other.release_lane("a", "a1")
    assert (await take(other)).entry == run("a2")
