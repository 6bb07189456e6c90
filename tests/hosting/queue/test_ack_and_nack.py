"""What every queue promises about deliveries that end: done, given back, too late, too often."""

from datetime import timedelta

import pytest

from sophon_hosting.queue.contract import DeadLetter, Delivery, QueueEntry


def run(task: str) -> QueueEntry:
    return QueueEntry(task, task[0])


def resume(task: str) -> QueueEntry:
    return QueueEntry(task, task[0], "resume")


@pytest.fixture
def kill(take):
    """Take and give back until the task is a dead letter; it must be the only one that can be delivered."""

    async def kill(queue, times: int = 5) -> list[str]:
        return [await queue.nack(await take(queue)) for _ in range(times)]

    return kill


async def test_what_is_acked_is_gone(queue, take):
    await queue.put(run("a1"))
    delivery = await take(queue)
    assert delivery.delivery_count == 1
    assert await queue.ack(delivery)
    statistics = await queue.statistics()
    assert (statistics.waiting, statistics.in_flight) == (0, 0)


async def test_what_is_given_back_comes_again_before_the_others_of_its_session(queue, take):
    await queue.put(run("a1"))
    await queue.put(run("a2"))
    first = await take(queue)
    assert await queue.nack(first) == "waiting"
    again = await take(queue)
    assert (again.entry, again.delivery_count) == (run("a1"), 2)


async def test_a_token_is_greater_than_all_before(queue, take):
    for task in ("a1", "b1", "c1"):
        await queue.put(run(task))
    first, second = await take(queue), await take(queue)
    await queue.nack(first)
    third, again = await take(queue), await take(queue)
    assert again.entry == first.entry
    assert first.fencing_token < second.fencing_token < third.fencing_token < again.fencing_token


@pytest.mark.parametrize("ending", ["ack", "nack"])
async def test_a_delivery_that_has_ended_changes_nothing_any_more(queue, take, ending: str):
    await queue.put(run("a1"))
    stale = await take(queue)
    await queue.nack(stale)
    current = await take(queue)
    assert await getattr(queue, ending)(stale) == {"ack": False, "nack": "stale"}[ending]
    assert not await queue.renew(stale)
    assert await queue.renew(current)
    assert await queue.ack(current)
    assert not await queue.ack(current)


async def test_a_token_that_never_was_is_stale(queue):
    unknown = Delivery(run("a1"), 7, 1)
    assert not await queue.ack(unknown)
    assert await queue.nack(unknown) == "stale"
    assert not await queue.renew(unknown)


async def test_a_task_that_is_given_back_too_often_is_a_dead_letter(queue, kill, backend):
    await queue.put(run("a1"))
    began = backend.now() - timedelta(milliseconds=1)
    assert await kill(queue) == ["waiting"] * 4 + ["dead"]
    (letter,) = await queue.list_dead_letters()
    assert letter == DeadLetter(run("a1"), 5, letter.died_at)
    assert began <= letter.died_at <= backend.now() + timedelta(milliseconds=1)
    assert (await queue.statistics()).waiting == 0


async def test_dead_letters_are_listed_oldest_first(make_queue, take):
    queue = await make_queue(max_deliveries=1)
    for task in ("b1", "a1", "c1"):
        await queue.put(run(task))
        await queue.nack(await take(queue))
    letters = await queue.list_dead_letters()
    assert [letter.entry.task_id for letter in letters] == ["b1", "a1", "c1"]
    assert [letter.died_at for letter in letters] == sorted(letter.died_at for letter in letters)


async def test_a_dead_letter_lets_its_session_go_on(queue, take, kill):
    await queue.put(run("a1"))
    await queue.put(run("a2"))
    await kill(queue)
    assert (await take(queue)).entry == run("a2")


async def test_a_task_that_dies_frees_the_lane_that_it_holds(queue, take, kill):
    await queue.hold_lane("a", "a1")
    await queue.put(resume("a1"))
    await queue.put(run("a2"))
    await kill(queue)
    assert (await queue.statistics()).held_lanes == 0
    assert (await take(queue)).entry == run("a2")


async def test_a_task_that_dies_frees_no_lane_that_another_holds(queue, take):
    await queue.put(run("a1"))
    for _ in range(4):
        await queue.nack(await take(queue))
    last = await take(queue)
    await queue.hold_lane("a", "a0")
    assert await queue.nack(last) == "dead"
    assert (await queue.statistics()).held_lanes == 1


async def test_a_sweep_does_not_raise_the_dead(queue, kill):
    await queue.put(run("a1"))
    await kill(queue)
    assert await queue.put(run("a1"), force=True) == 0
    assert (await queue.statistics()).waiting == 0


async def test_a_retried_dead_letter_is_as_new(queue, take, kill):
    await queue.put(run("a1"))
    await kill(queue)
    assert await queue.retry_dead_letter("a1")
    assert await queue.list_dead_letters() == []
    delivery = await take(queue)
    assert (delivery.entry, delivery.delivery_count) == (run("a1"), 1)


async def test_a_retried_dead_letter_stands_behind_its_session_and_beyond_the_capacity(make_queue, take):
    queue = await make_queue(capacity=1, max_deliveries=1)
    await queue.put(run("a1"))
    await queue.nack(await take(queue))
    await queue.put(run("a2"))
    assert await queue.retry_dead_letter("a1")
    assert (await take(queue)).entry == run("a2")
    assert (await queue.statistics()).waiting == 1


async def test_who_waits_gets_a_retried_dead_letter(queue, taking, kill, settled, backend):
    await queue.put(run("a1"))
    await kill(queue)
    waiting = taking(queue)
    await settled()
    await queue.retry_dead_letter("a1")
    assert (await backend.finish(waiting)).entry == run("a1")


async def test_only_the_dead_are_retried(queue, take):
    await queue.put(run("a1"))
    await queue.put(run("b1"))
    await take(queue)
    assert [await queue.retry_dead_letter(task) for task in ("a1", "b1", "c1")] == [False, False, False]


async def test_a_dead_letter_can_be_removed(queue, kill):
    await queue.put(run("a1"))
    await kill(queue)
    assert await queue.remove("a1")
    assert await queue.list_dead_letters() == []
    assert not await queue.retry_dead_letter("a1")


async def test_a_decision_on_a_dead_task_is_kept_for_its_retry(queue, take, kill):
    await queue.put(run("a1"))
    await kill(queue)
    assert await queue.put(resume("a1")) == 0
    await queue.retry_dead_letter("a1")
    assert (await take(queue)).entry == resume("a1")


async def test_a_delivery_given_back_and_its_waiting_resume_are_one_entry(queue, take):
    await queue.put(run("a1"))
    first = await take(queue)
    await queue.put(resume("a1"))
    assert await queue.nack(first) == "waiting"
    assert (await queue.statistics()).waiting == 1
    again = await take(queue)
    assert (again.entry, again.delivery_count) == (resume("a1"), 2)


async def test_a_resume_that_waits_does_not_save_a_task_from_dying(make_queue, take):
    queue = await make_queue(max_deliveries=1)
    await queue.put(run("a1"))
    first = await take(queue)
    await queue.put(resume("a1"))
    assert await queue.nack(first) == "dead"
    assert [letter.entry for letter in await queue.list_dead_letters()] == [resume("a1")]
    assert (await queue.statistics()).waiting == 0
