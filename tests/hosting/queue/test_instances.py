"""What a queue of several processes promises: they see one queue; only a pause is of one of them."""

import pytest

from sophon_hosting.queue.contract import QueueEntry
from sophon_hosting.queue.errors import QueueFull
from tests.hosting.queue.needs import needs

NEEDS = ("instances",)


def run(task: str) -> QueueEntry:
    return QueueEntry(task, task[0])


async def test_what_one_puts_another_takes(queue, another, take):
    other = await another()
    await queue.put(run("a1"))
    delivery = await take(other)
    assert delivery.entry == run("a1")
    assert await other.ack(delivery)
    assert (await queue.statistics()).in_flight == 0


async def test_who_waits_in_another_process_is_woken(queue, another, taking, settled, backend):
    other = await another()
    taker = taking(other)
    await settled()
    await queue.put(run("a1"))
    assert (await backend.finish(taker)).entry == run("a1")


async def test_a_lane_is_one_for_all(queue, another, taking, take, settled, backend):
    other = await another()
    for task in ("a1", "a2"):
        await queue.put(run(task))
    first = await take(queue)
    taker = taking(other)
    await settled()
    await queue.put(run("b1"))
    assert (await backend.finish(taker)).entry == run("b1")
    await queue.ack(first)
    assert (await take(other)).entry == run("a2")


async def test_a_task_put_by_two_is_one_entry(queue, another, take):
    other = await another()
    await queue.put(run("a1"))
    await other.put(run("a1"))
    delivery = await take(queue)
    await other.put(run("a1"), force=True)
    await queue.ack(delivery)
    assert await other.find_missing([run("a1")]) == [run("a1")]
    statistics = await other.statistics()
    assert (statistics.waiting, statistics.in_flight) == (0, 0)


@needs("bound")
async def test_the_bound_is_one_for_all(make_queue, another):
    queue = await make_queue(capacity=2)
    other = await another(capacity=2)
    await queue.put(run("a1"))
    await other.put(run("b1"))
    for each in (queue, other):
        with pytest.raises(QueueFull):
            await each.put(run("c1"))


async def test_a_reserved_slot_knows_what_others_have_put(make_queue, another, backend):
    queue = await make_queue(capacity=2)
    other = await another(capacity=2)
    for task in ("a1", "b1"):
        await other.put(run(task))

    async def is_refused() -> bool:
        try:
            queue.reserve().release()
        except QueueFull:
            return True
        return False

    await backend.until(is_refused)
    for _ in range(2):
        await other.ack(await other.take())

    async def is_admitted() -> bool:
        return not await is_refused()

    await backend.until(is_admitted)


async def test_dead_letters_are_for_all(make_queue, another, take):
    queue = await make_queue(max_deliveries=1)
    other = await another(max_deliveries=1)
    await queue.put(run("a1"))
    assert await queue.nack(await take(queue)) == "dead"
    assert [letter.entry for letter in await other.list_dead_letters()] == [run("a1")]
    assert await other.retry_dead_letter("a1")
    assert not await queue.retry_dead_letter("a1")
    assert (await take(queue)).entry == run("a1")


async def test_a_hold_is_for_all(queue, another, take):
    other = await another()
    assert await queue.hold_lane("a", "a1")
    assert not await other.hold_lane("a", "a2")
    await other.put(run("a2"))
    await other.put(run("b1"))
    assert (await take(other)).entry == run("b1")
    assert await other.release_lane("a", "a1")
    assert (await take(queue)).entry == run("a2")


@needs("positions")
async def test_positions_are_of_the_whole_queue(queue, another):
    other = await another()
    assert [await queue.put(run("a1")), await other.put(run("b1")), await queue.put(run("c1"))] == [0, 1, 2]
    assert [await each.position("c1") for each in (queue, other)] == [2, 2]
    assert await other.remove("b1")
    assert await queue.position("c1") == 1


@needs("counts")
async def test_statistics_are_of_the_whole_queue(queue, another, take):
    other = await another()
    await queue.put(run("a1"))
    await other.put(run("b1"))
    await take(queue)
    seen = [await each.statistics() for each in (queue, other)]
    assert [(each.waiting, each.in_flight, each.delivered_total) for each in seen] == [(1, 1, 1)] * 2


async def test_a_pause_is_of_one_process(queue, another, take, taking, settled, backend):
    other = await another()
    await queue.pause()
    paused = taking(queue)
    await settled()
    await queue.put(run("a1"))
    assert (await take(other)).entry == run("a1")
    assert not (await other.statistics()).paused
    await queue.put(run("b1"))
    await settled()
    assert not paused.done()
    await queue.resume()
    assert (await backend.finish(paused)).entry == run("b1")


async def test_a_drain_waits_for_no_other_process(queue, another, take, backend):
    other = await another()
    await queue.put(run("a1"))
    await take(other)
    assert await backend.finish(queue.drain())


async def test_what_waits_outlives_the_process_that_put_it(queue, another, take):
    await queue.put(run("a1"))
    await queue.hold_lane("b", "b1")
    await queue.close()
    other = await another()
    assert (await take(other)).entry == run("a1")
    assert not await other.hold_lane("b", "b2")
