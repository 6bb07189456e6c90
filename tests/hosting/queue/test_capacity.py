"""What every queue promises about its bound: it refuses at once, says when to come again, and loses nothing."""

import pytest

from sophon_hosting.queue.contract import QueueEntry
from sophon_hosting.queue.errors import QueueFull

NEEDS = ("bound",)


def run(task: str) -> QueueEntry:
    return QueueEntry(task, task[0])


def resume(task: str) -> QueueEntry:
    return QueueEntry(task, task[0], "resume")


async def test_a_queue_of_the_default_size_takes_a_hundred(queue):
    for n in range(100):
        assert await queue.put(QueueEntry(f"t{n}", f"s{n % 7}")) == n
    with pytest.raises(QueueFull) as refusal:
        await queue.put(run("x1"))
    assert refusal.value.capacity == 100
    assert (await queue.statistics()).waiting == 100


async def test_what_was_refused_is_not_there(make_queue):
    queue = await make_queue(capacity=1)
    await queue.put(run("a1"))
    with pytest.raises(QueueFull):
        await queue.put(run("b1"))
    assert await queue.position("b1") is None
    assert not await queue.remove("b1")


async def test_a_place_is_kept_until_it_is_put(make_queue):
    queue = await make_queue(capacity=2)
    await queue.put(run("a1"))
    place = queue.reserve()
    with pytest.raises(QueueFull):
        queue.reserve()
    with pytest.raises(QueueFull):
        await queue.put(run("c1"))
    assert await place.put(run("b1")) == 1
    statistics = await queue.statistics()
    assert (statistics.waiting, statistics.reserved) == (2, 0)


async def test_a_place_that_is_released_is_free_again_and_only_once(make_queue):
    queue = await make_queue(capacity=1)
    place = queue.reserve()
    place.release()
    place.release()
    assert (await queue.statistics()).reserved == 0
    queue.reserve()
    with pytest.raises(QueueFull):
        queue.reserve()


async def test_a_place_releases_itself_when_the_row_cannot_be_written(make_queue):
    queue = await make_queue(capacity=1)
    with pytest.raises(OSError, match="disk"), queue.reserve():
        raise OSError("the disk is full")
    assert (await queue.statistics()).reserved == 0


async def test_a_place_that_was_put_in_its_block_is_not_released_twice(make_queue):
    queue = await make_queue(capacity=1)
    with queue.reserve() as place:
        await place.put(run("a1"))
    statistics = await queue.statistics()
    assert (statistics.waiting, statistics.reserved) == (1, 0)


async def test_a_place_is_for_one_entry(queue):
    place = queue.reserve()
    await place.put(run("a1"))
    with pytest.raises(RuntimeError, match="'a2'"):
        await place.put(run("a2"))
    assert (await queue.statistics()).waiting == 1


async def test_a_place_is_not_refused_when_recovery_filled_the_queue_meanwhile(make_queue):
    queue = await make_queue(capacity=1)
    place = queue.reserve()
    await queue.put(run("b1"), force=True)
    await place.put(run("a1"))
    assert (await queue.statistics()).waiting == 2


async def test_what_is_in_flight_takes_no_room(make_queue, take):
    queue = await make_queue(capacity=1)
    await queue.put(run("a1"))
    await take(queue)
    await queue.put(run("a2"))
    with pytest.raises(QueueFull):
        await queue.put(run("a3"))


async def test_recovered_entries_and_resumes_enter_beyond_the_capacity(make_queue):
    queue = await make_queue(capacity=1)
    await queue.put(run("a1"))
    await queue.put(run("b1"), force=True)
    await queue.put(resume("c1"))
    assert (await queue.statistics()).waiting == 3


async def test_a_queue_filled_beyond_its_capacity_refuses_until_there_is_room(make_queue, take):
    queue = await make_queue(capacity=2)
    for session in "abc":
        await queue.put(run(f"{session}1"), force=True)
    await take(queue)
    with pytest.raises(QueueFull):
        queue.reserve()
    await take(queue)
    queue.reserve()


async def test_what_is_given_back_to_a_full_queue_is_kept(make_queue, take):
    queue = await make_queue(capacity=1)
    await queue.put(run("a1"))
    delivery = await take(queue)
    await queue.put(run("b1"))
    assert await queue.nack(delivery) == "waiting"
    assert (await queue.statistics()).waiting == 2


async def test_a_removed_entry_makes_room(make_queue):
    queue = await make_queue(capacity=1)
    await queue.put(run("a1"))
    assert await queue.remove("a1")
    await queue.put(run("b1"))


async def test_a_full_queue_says_when_to_come_again(make_queue, take):
    queue = await make_queue(capacity=1)
    await queue.put(run("a1"))
    await queue.ack(await take(queue))
    await queue.put(run("a1"))
    await take(queue)
    await queue.put(run("b1"))
    with pytest.raises(QueueFull) as refusal:
        queue.reserve()
    assert 1 <= refusal.value.retry_after_seconds <= 60


async def test_a_full_queue_that_is_paused_promises_nothing_soon(make_queue, take):
    queue = await make_queue(capacity=1)
    await queue.put(run("a1"))
    await queue.ack(await take(queue))
    await queue.put(run("a2"))
    await take(queue)
    await queue.put(run("b1"))
    await queue.pause()
    with pytest.raises(QueueFull, match="60 s"):
        queue.reserve()


@pytest.mark.parametrize(("capacity", "max_deliveries"), [(0, 5), (-1, 5), (1, 0)])
async def test_a_queue_has_room_and_delivers(make_queue, capacity: int, max_deliveries: int):
    with pytest.raises(ValueError, match="at least 1"):
        await make_queue(capacity=capacity, max_deliveries=max_deliveries)
