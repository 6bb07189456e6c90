"""What every queue promises about the order within a session, and about lanes that are held."""

import pytest

from sophon_hosting.queue.contract import QueueEntry


def run(task: str) -> QueueEntry:
    return QueueEntry(task, task[0])


def resume(task: str) -> QueueEntry:
    return QueueEntry(task, task[0], "resume")


async def test_a_session_runs_one_after_the_other_in_order_of_acceptance(queue, take):
    for task in ("a1", "a2", "a3"):
        await queue.put(run(task))
    ran = []
    for _ in range(3):
        delivery = await take(queue)
        ran.append(delivery.entry.task_id)
        await queue.ack(delivery)
    assert ran == ["a1", "a2", "a3"]


async def test_a_session_has_one_delivery_in_flight(queue, take, taking, settled, backend):
    await queue.put(run("a1"))
    await queue.put(run("a2"))
    first = await take(queue)
    second = taking(queue)
    await settled()
    assert not second.done()
    await queue.ack(first)
    assert (await backend.finish(second)).entry == run("a2")


async def test_sessions_run_in_parallel(queue, take):
    for task in ("a1", "b1", "c1", "a2"):
        await queue.put(run(task))
    assert [(await take(queue)).entry.task_id for _ in range(3)] == ["a1", "b1", "c1"]


async def test_later_messages_wait_while_the_turn_is_suspended(queue, take, taking, settled, backend):
    await queue.put(run("a1"))
    await queue.put(run("a2"))
    first = await take(queue)
    assert await queue.hold_lane("a", "a1")
    await queue.ack(first)
    later = taking(queue)
    await settled()
    assert not later.done()
    assert await queue.release_lane("a", "a1")
    assert (await backend.finish(later)).entry == run("a2")


async def test_a_held_lane_keeps_nobody_else_waiting(queue, take):
    await queue.hold_lane("a", "a1")
    await queue.put(run("a2"))
    await queue.put(run("b1"))
    assert (await take(queue)).entry == run("b1")


async def test_a_lane_can_be_held_before_anything_of_it_is_here(queue, taking, settled, backend):
    assert await queue.hold_lane("a", "a1")
    await queue.put(run("a2"))
    later = taking(queue)
    await settled()
    await queue.put(run("b1"))
    assert (await backend.finish(later)).entry == run("b1")


async def test_a_hold_stops_what_was_ready_already(queue, taking, settled, backend):
    await queue.put(run("a2"))
    await queue.hold_lane("a", "a1")
    later = taking(queue)
    await settled()
    await queue.put(run("b1"))
    assert (await backend.finish(later)).entry == run("b1")


async def test_the_resume_of_the_held_task_passes_the_others_of_its_lane(queue, take, taking, settled, backend):
    await queue.hold_lane("a", "a1")
    await queue.put(run("a2"))
    await queue.put(resume("a1"))
    delivery = await take(queue)
    assert delivery.entry == resume("a1")
    await queue.ack(delivery)
    later = taking(queue)
    await settled()
    assert not later.done()  # the turn may have been suspended once more; only `free` ends the hold
    await queue.release_lane("a", "a1")
    assert (await backend.finish(later)).entry == run("a2")


async def test_a_resume_stands_before_the_others_also_where_no_lane_is_held(queue, take):
    await queue.put(run("a2"))
    await queue.put(resume("a1"))
    assert (await take(queue)).entry == resume("a1")


async def test_only_the_held_tasks_resume_passes_a_hold(queue, take):
    await queue.hold_lane("a", "a1")
    await queue.put(resume("a1"))
    await queue.put(resume("a0"))
    assert (await take(queue)).entry == resume("a1")


async def test_a_decision_that_is_faster_than_the_suspension_is_not_lost(queue, take):
    await queue.put(run("a1"))
    await queue.put(run("a2"))
    first = await take(queue)
    await queue.put(resume("a1"))
    await queue.hold_lane("a", "a1")
    await queue.ack(first)
    assert (await take(queue)).entry == resume("a1")


async def test_a_held_task_that_was_given_back_comes_again(queue, take):
    await queue.put(run("a1"))
    await queue.put(run("a2"))
    first = await take(queue)
    await queue.hold_lane("a", "a1")
    await queue.nack(first)
    assert (await take(queue)).entry == run("a1")


async def test_a_resume_for_a_task_that_waits_again_is_one_entry_at_the_front(queue, take):
    await queue.put(run("a1"))
    await queue.put(run("a2"))
    await queue.put(resume("a2"))
    assert (await queue.statistics()).waiting == 2
    assert (await take(queue)).entry == resume("a2")


async def test_the_hold_of_another_task_stands(queue):
    assert await queue.hold_lane("a", "a1")
    assert not await queue.hold_lane("a", "a2")
    assert not await queue.release_lane("a", "a2")
    assert await queue.hold_lane("a", "a1")
    assert await queue.release_lane("a", "a1")


@pytest.mark.parametrize("session", ["a", "never"])
async def test_freeing_what_nobody_holds_is_told(queue, session: str):
    await queue.put(run("a1"))
    assert not await queue.release_lane(session, "a1")


async def test_a_held_task_can_be_cancelled(queue, take):
    await queue.hold_lane("a", "a1")
    await queue.put(resume("a1"))
    await queue.put(run("a2"))
    assert await queue.remove("a1")
    assert await queue.release_lane("a", "a1")
    assert (await take(queue)).entry == run("a2")
