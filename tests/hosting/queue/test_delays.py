"""What every queue promises about a task that is given back for later, and about what it does not know."""

from sophon_hosting.queue.contract import QueueEntry

DELAY_SECONDS = 0.3


def run(task: str) -> QueueEntry:
    return QueueEntry(task, task[0])


def resume(task: str) -> QueueEntry:
    return QueueEntry(task, task[0], "resume")


async def test_a_delayed_task_comes_again_after_its_delay_and_not_before(queue, take, backend):
    await queue.put(run("a1"))
    delivery = await take(queue)
    began = backend.now()
    assert await queue.nack(delivery, delay_seconds=DELAY_SECONDS) == "waiting"
    assert (await queue.statistics()).waiting == 1
    again = await take(queue)
    assert (again.entry, again.delivery_count) == (run("a1"), 2)
    assert (backend.now() - began).total_seconds() >= DELAY_SECONDS - 0.002  # a server may count in milliseconds


async def test_a_delay_keeps_its_session_in_order_and_nobody_else_waiting(queue, take):
    for task in ("a1", "a2", "b1"):
        await queue.put(run(task))
    assert await queue.nack(await take(queue), delay_seconds=DELAY_SECONDS) == "waiting"
    served = []
    for _ in range(3):
        delivery = await take(queue)
        served.append(delivery.entry.task_id)
        await queue.ack(delivery)
    assert served == ["b1", "a1", "a2"]


async def test_a_delay_that_is_not_counted_brings_no_task_nearer_to_its_death(make_queue, take):
    queue = await make_queue(max_deliveries=1)
    await queue.put(run("a1"))
    for _ in range(3):
        delivery = await take(queue)
        assert delivery.delivery_count == 1
        assert await queue.nack(delivery, is_counted=False, delay_seconds=0.01) == "waiting"
    assert await queue.nack(await take(queue), delay_seconds=60) == "dead"


async def test_a_delayed_task_can_be_removed(queue, take, backend):
    for task in ("a1", "a2"):
        await queue.put(run(task))
    await queue.nack(await take(queue), delay_seconds=DELAY_SECONDS)
    assert await queue.remove("a1")
    assert (await take(queue)).entry == run("a2")


async def test_a_decision_for_a_delayed_task_is_merged_with_it(queue, take):
    await queue.put(run("a1"))
    await queue.nack(await take(queue), delay_seconds=0.05)
    await queue.put(resume("a1"))
    assert (await queue.statistics()).waiting == 1
    assert (await take(queue)).entry == resume("a1")


async def test_a_delay_does_not_hold_up_a_drain(queue, take, backend):
    await queue.put(run("a1"))
    await queue.nack(await take(queue), delay_seconds=60)
    assert await backend.finish(queue.drain())


async def test_what_neither_waits_nor_runs_nor_died_is_missing(make_queue, take):
    queue = await make_queue(max_deliveries=1)
    for task in ("d1", "f1", "w1", "x1", "g1"):
        await queue.put(run(task))
    assert await queue.nack(await take(queue)) == "dead"
    await take(queue)
    await queue.put(run("f2"))
    await queue.remove("x1")
    await queue.remove("w1")
    await queue.put(run("w1"))
    delivery = await take(queue)
    await queue.ack(delivery)
    assert delivery.entry == run("g1")
    asked = [run(task) for task in ("y1", "g1", "x1", "d1", "f1", "w1", "f2", "a1")]
    assert await queue.find_missing(asked) == [run(task) for task in ("y1", "g1", "x1", "a1")]
    assert await queue.find_missing([]) == []


async def test_a_delayed_task_is_not_missing(queue, take):
    await queue.put(run("a1"))
    await queue.nack(await take(queue), delay_seconds=60)
    assert await queue.find_missing([run("a1")]) == []
