"""What every queue promises between owners: they take turns, and none of them fills the queue for the others."""

from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sophon_hosting.queue.contract import QueueEntry
from sophon_hosting.queue.errors import QueueFull
from tests.hosting.queue.needs import needs
from tests.properties import examples


def run(owner: str, number: int, session: str | None = None) -> QueueEntry:
    return QueueEntry(f"{owner}{number}", session or f"{owner}-{number}", owner=owner)


async def fill(queue, owner: str) -> int:
    """Put until it is refused; how many entered."""
    for number in range(1000):
        try:
            await queue.put(run(owner, number))
        except QueueFull:
            return number
    raise AssertionError("never refused")


async def owners_served(queue, take, count: int) -> str:
    served = ""
    for _ in range(count):
        delivery = await take(queue)
        served += delivery.entry.owner
        await queue.ack(delivery)
    return served


@needs("turns")
async def test_the_first_message_of_another_waits_for_one_turn_and_not_for_ninety(queue, take):
    for number in range(90):
        await queue.put(run("g", number))
    assert await queue.put(run("b", 0)) == 1
    assert await owners_served(queue, take, 3) == "gbg"


@needs("turns")
async def test_owners_alternate_however_many_sessions_each_has(queue, take):
    for number in range(4):
        await queue.put(run("a", number))
    for number in range(2):
        await queue.put(run("b", number, "one"))
    assert await owners_served(queue, take, 6) == "ababaa"


@needs("turns")
async def test_an_owner_that_comes_back_does_not_pass_who_has_waited(queue, take):
    for owner in "abc":
        await queue.put(run(owner, 0))
    await queue.ack(await take(queue))
    await queue.put(run("a", 1))
    assert await owners_served(queue, take, 3) == "bca"


async def test_in_a_session_of_several_owners_the_order_of_acceptance_stays(queue, take):
    for owner, number in (("a", 0), ("b", 0), ("a", 1)):
        await queue.put(run(owner, number, "group"))
    assert await owners_served(queue, take, 3) == "aba"


@needs("bound")
async def test_one_owner_of_a_shared_queue_leaves_slots_for_others(make_queue):
    queue = await make_queue(owner_share=0.75)
    assert await fill(queue, "a") == 75
    assert await fill(queue, "b") >= 15
    for owner in "cde":
        await queue.put(run(owner, 0))


@needs("bound")
async def test_one_owner_of_a_queue_that_is_not_shared_may_fill_it(make_queue):
    assert await fill(await make_queue(owner_share=1.0), "a") == 100


@needs("bound")
@pytest.mark.parametrize("capacity", [2, 3, 4, 10])
async def test_the_last_slot_of_a_small_queue_is_for_who_has_none(make_queue, capacity: int):
    queue = await make_queue(capacity=capacity, owner_share=0.75)
    assert await fill(queue, "a") < capacity
    await queue.put(run("b", 0))


@needs("bound")
async def test_reserved_slots_count_for_their_owner(make_queue):
    queue = await make_queue(capacity=4, owner_share=0.75)
    slots = [queue.reserve("a") for _ in range(3)]
    with pytest.raises(QueueFull):
        queue.reserve("a")
    slots.pop().release()
    await queue.reserve("a").put(run("a", 0))
    with pytest.raises(QueueFull):
        await queue.put(run("a", 1))
    await queue.reserve("b").put(run("b", 0))


@needs("bound")
async def test_a_refusal_says_whose_slots_are_used_up(make_queue):
    queue = await make_queue(capacity=10, owner_share=0.75)
    count = await fill(queue, "a")
    with pytest.raises(
        QueueFull, match=rf"{count} of your tasks are waiting.*kept for others; try again in 60 s"
    ) as own:
        queue.reserve("a")
    for owner in "bc":
        await queue.put(run(owner, 0))
    with pytest.raises(QueueFull, match="10 of 10 tasks are waiting") as full:
        queue.reserve("d")
    assert full.value.owner_waiting is None
    assert own.value.owner_waiting == count


@needs("bound")
async def test_a_freed_slot_goes_to_who_has_little(make_queue, take):
    queue = await make_queue(capacity=10, owner_share=0.75)
    await fill(queue, "a")
    for owner in "bc":
        await queue.put(run(owner, 0))
    await take(queue)
    with pytest.raises(QueueFull):
        await queue.put(run("a", 99))
    await queue.put(run("d", 0))


@needs("bound")
async def test_recovered_entries_enter_and_new_ones_wait_until_they_have_drained(make_queue, take):
    queue = await make_queue(capacity=2, owner_share=0.75)
    for number in range(5):
        await queue.put(run("a", number), force=True)
    for _ in range(3):
        with pytest.raises(QueueFull, match="the queue is full"):
            queue.reserve("b")
        await take(queue)
    with pytest.raises(QueueFull):
        queue.reserve("b")
    await take(queue)
    await queue.reserve("b").put(run("b", 0))


@needs("positions")
async def test_a_resume_enters_a_full_queue(make_queue):
    queue = await make_queue(capacity=1, owner_share=0.75)
    await queue.put(run("a", 0))
    assert await queue.put(QueueEntry("b0", "b", "resume", "b")) == 1


arrivals = st.lists(st.tuples(st.sampled_from("abcde"), st.integers(0, 3), st.booleans()), max_size=60)


@needs("turns")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=examples(40), deadline=None)
@given(arrivals=arrivals)
async def test_an_owner_waits_for_one_turn_of_each_other_owner_and_nothing_is_lost(make_queue, take, arrivals):
    queue = await make_queue()
    waiting: dict[str, list[str]] = {}
    passed: Counter[tuple[str, str]] = Counter()
    served: list[str] = []

    async def serve() -> None:
        delivery = await take(queue)
        await queue.ack(delivery)
        entry = delivery.entry
        waiting[entry.session_id].remove(entry.task_id)
        served.append(entry.task_id)
        for owner in {session[0] for session, tasks in waiting.items() if tasks} - {entry.owner}:
            passed[owner, entry.owner] += 1
            assert passed[owner, entry.owner] == 1
        for pair in [each for each in passed if each[0] == entry.owner]:
            del passed[pair]

    for number, (owner, session, takes) in enumerate(arrivals):
        entry = QueueEntry(f"{owner}{session}:{number}", f"{owner}{session}", owner=owner)
        await queue.put(entry)
        waiting.setdefault(entry.session_id, []).append(entry.task_id)
        if takes:
            await serve()
    while any(waiting.values()):
        await serve()
    assert len(served) == len(arrivals)
    for session in waiting:
        numbers = [int(task.split(":")[1]) for task in served if task.startswith(f"{session}:")]
        assert numbers == sorted(numbers)


@needs("turns", "positions")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=examples(30), deadline=None)
@given(arrivals=arrivals)
async def test_positions_are_the_order_of_delivery(make_queue, take, arrivals):
    queue = await make_queue()
    tasks: list[str] = []
    for number, (owner, session, takes) in enumerate(arrivals):
        entry = QueueEntry(f"t{number}", f"{owner}{session}", owner=owner)
        assert await queue.estimate_position(entry) == await queue.put(entry)
        tasks.append(entry.task_id)
        if takes:
            delivery = await take(queue)
            tasks.remove(delivery.entry.task_id)
            await queue.ack(delivery)
    told = sorted([(await queue.position(task), task) for task in tasks])
    order = []
    for _ in tasks:
        delivery = await take(queue)
        order.append(delivery.entry.task_id)
        await queue.ack(delivery)
    assert told == list(enumerate(order))


def test_one_task_is_said_to_wait() -> None:
    assert "1 of your tasks is waiting" in str(QueueFull(10, 5, owner_waiting=1))
    assert "2 of your tasks are waiting" in str(QueueFull(10, 5, owner_waiting=2))
    assert "1 of 1 task is waiting" in str(QueueFull(1, 5))
