"""What every queue promises between sessions: they take turns, and none waits for ever."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sophon_hosting.queue.contract import QueueEntry
from tests.properties import examples

NEEDS = ("turns",)


def run(task: str) -> QueueEntry:
    return QueueEntry(task, task[0])


async def sequence(queue, take, count: int) -> str:
    """The sessions of the next deliveries, one worker."""
    served = ""
    for _ in range(count):
        delivery = await take(queue)
        served += delivery.entry.session_id
        await queue.ack(delivery)
    return served


async def test_sessions_take_turns(queue, take):
    for task in ("a1", "a2", "a3", "b1", "b2", "c1"):
        await queue.put(run(task))
    assert await sequence(queue, take, 6) == "abcaba"


async def test_a_session_with_a_hundred_tasks_does_not_starve_the_others(queue, take):
    for n in range(95):
        await queue.put(QueueEntry(f"greedy{n}", "g"))
    await queue.ack(await take(queue))
    for session in "abcde":
        await queue.put(run(f"{session}1"))
    assert await sequence(queue, take, 6) == "gabcde"


async def test_what_comes_again_and_again_does_not_starve_the_others(queue, take):
    await queue.put(run("a1"))
    await queue.put(run("b1"))
    assert await queue.nack(await take(queue)) == "waiting"
    assert (await take(queue)).entry == run("b1")


async def test_a_freed_lane_stands_behind_those_that_are_ready(queue, take):
    await queue.hold_lane("a", "a0")
    await queue.put(run("a1"))
    await queue.put(run("b1"))
    await queue.release_lane("a", "a0")
    assert await sequence(queue, take, 2) == "ba"


async def test_more_tasks_of_a_session_do_not_move_its_turn(queue, take):
    for task in ("a1", "b1", "c1", "b2", "a2"):
        await queue.put(run(task))
    await queue.remove("a1")
    assert await sequence(queue, take, 4) == "abcb"


@pytest.mark.parametrize("workers", [1, 3])
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=examples(30))
@given(puts=st.lists(st.sampled_from("abcdefgh"), max_size=60))
async def test_nobody_is_passed_twice_by_another_session(make_queue, take, workers: int, puts: list[str]):
    queue = await make_queue()
    for n, session in enumerate(puts):
        await queue.put(QueueEntry(f"t{n}", session))
    left = {session: puts.count(session) for session in puts}
    passed = {session: dict.fromkeys(puts, 0) for session in puts}
    while any(left.values()):
        batch = [await take(queue) for _ in range(min(workers, sum(1 for count in left.values() if count)))]
        for delivery in batch:
            served = delivery.entry.session_id
            left[served] -= 1
            passed[served] = dict.fromkeys(puts, 0)
            for session in passed:
                passed[session][served] += session != served
            assert all(max(passed[s].values()) <= 1 for s in left if left[s] and s not in running(batch))
        for delivery in batch:
            await queue.ack(delivery)


def running(batch) -> set[str]:
    return {delivery.entry.session_id for delivery in batch}
