"""The session gate: acceptances side by side, a deletion alone, other sessions untouched."""

import asyncio
from contextlib import AbstractAsyncContextManager

from sophon_hosting.runs.deletion_lock import DeletionLock


async def enter(context: AbstractAsyncContextManager[None], name: str, order: list[str], leave: asyncio.Event) -> None:
    async with context:
        order.append(name)
        await leave.wait()
    order.append(f"/{name}")


async def test_a_deletion_waits_for_messages_and_later_messages_for_the_deletion() -> None:
    gate, order = DeletionLock(), list[str]()
    ends = [asyncio.Event() for _ in range(5)]
    entries = (gate.accepting("s"), gate.accepting("s"), gate.deleting("s"), gate.accepting("s"), gate.accepting("t"))
    tasks = []
    for context, name, end in zip(entries, ("a", "b", "delete", "c", "other"), ends, strict=True):
        tasks.append(asyncio.create_task(enter(context, name, order, end)))
        await asyncio.sleep(0)
    assert order == ["a", "b", "other"]
    for end in ends:
        end.set()
    await asyncio.gather(*tasks)
    assert order.index("/a") < order.index("delete") < order.index("/delete") < order.index("c")
    assert order.index("/b") < order.index("delete")
    assert len(gate) == 0


async def test_a_deletion_that_is_cancelled_while_it_waits_opens_the_gate() -> None:
    gate, order, end = DeletionLock(), list[str](), asyncio.Event()
    first = asyncio.create_task(enter(gate.accepting("s"), "a", order, end))
    await asyncio.sleep(0)
    deletion = asyncio.create_task(enter(gate.deleting("s"), "delete", order, end))
    await asyncio.sleep(0)
    deletion.cancel()
    await asyncio.wait({deletion})
    end.set()
    await asyncio.gather(first, enter(gate.accepting("s"), "b", order, end))
    assert (order, len(gate)) == (["a", "/a", "b", "/b"], 0)
