"""The limiter of sub-agents: so many in all, so many per turn, first come first served."""

import asyncio

from hypothesis import given
from hypothesis import strategies as st

from sophon.agents.agent_runtime import AgentSlots


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_who_waits_gets_the_next_free_slot_in_order() -> None:
    slots, order = AgentSlots(1, 1), list[str]()

    async def work(name: str) -> None:
        await slots.acquire(name)
        order.append(name)

    await slots.acquire("first")
    tasks = [asyncio.create_task(work(each)) for each in ("a", "b")]
    await settle()
    assert order == []
    slots.release("first")
    await settle()
    assert order == ["a"]
    slots.release("a")
    await asyncio.gather(*tasks)
    assert order == ["a", "b"]


async def test_a_turn_at_its_limit_does_not_hold_up_others() -> None:
    slots = AgentSlots(3, 1)
    await slots.acquire("busy")
    waiting = asyncio.create_task(slots.acquire("busy"))
    await settle()
    await asyncio.wait_for(slots.acquire("other"), 1)
    assert not waiting.done()
    slots.release("busy")
    await waiting


async def test_a_waiter_that_is_cancelled_takes_no_slot() -> None:
    slots = AgentSlots(1, 1)
    await slots.acquire("a")
    waiting = asyncio.create_task(slots.acquire("b"))
    await settle()
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    slots.release("a")
    assert slots.used == 0


async def test_a_waiter_that_is_cancelled_after_its_turn_came_gives_the_slot_back() -> None:
    slots = AgentSlots(1, 1)
    await slots.acquire("a")
    waiting = asyncio.create_task(slots.acquire("b"))
    await settle()
    slots.release("a")
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    assert slots.used == 0


@given(st.integers(1, 4), st.integers(1, 4), st.lists(st.tuples(st.booleans(), st.sampled_from("abc")), max_size=60))
def test_never_are_more_slots_taken_than_there_are(total: int, per_turn: int, steps: list[tuple[bool, str]]) -> None:
    slots, held = AgentSlots(total, per_turn), list[str]()
    for takes, turn in steps:
        if takes and slots.try_acquire(turn):
            held.append(turn)
        elif not takes and turn in held:
            held.remove(turn)
            slots.release(turn)
        assert slots.used == len(held) <= total
        assert all(held.count(each) <= per_turn for each in held)
