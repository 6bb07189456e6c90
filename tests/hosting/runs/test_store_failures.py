"""A store that does not take the outcome: it is tried again, told once, and given up in the open."""

from typing import Any

import pytest

from sophon.errors import StoreError
from sophon.events import TaskCompleted, TaskFailed
from sophon.stores.in_memory_store import InMemoryStore
from sophon.testing import VirtualClock


class StubbornRuns:
    """Runs that refuse the first outcomes."""

    def __init__(self, runs: Any, refusals: int) -> None:
        self._runs, self._refusals = runs, refusals

    def __getattr__(self, name: str) -> Any:
        return getattr(self._runs, name)

    async def finish(self, *arguments: Any, **more: Any) -> Any:
        if self._refusals:
            self._refusals -= 1
            raise StoreError("memory://", "the disk is full")
        return await self._runs.finish(*arguments, **more)


@pytest.fixture
def store(clock: VirtualClock) -> InMemoryStore:
    return InMemoryStore(clock=clock)


async def waited_out(world, receipt):
    async def over() -> bool:
        await world.clock.advance(10)
        return (await world.run(receipt)).is_finished

    await world.until(over)
    return await world.run(receipt)


@pytest.mark.parametrize("refusals", [1, 2, 3])
async def test_an_answer_that_was_refused_is_written_and_told_once(world, store, refusals: int) -> None:
    store.runs = StubbornRuns(store.runs, refusals)
    host = world.host()
    await host.start()
    receipt = await world.send(host, "hello")
    run = await waited_out(world, receipt)
    assert run.status == "completed"
    assert await world.said("s") == ["hello", "HELLO"]
    assert (len(world.events.of(TaskCompleted)), world.events.of(TaskFailed)) == (1, [])


async def test_after_five_tries_it_is_given_up_and_said_so(world, store) -> None:
    store.runs = StubbornRuns(store.runs, 5)
    host = world.host()
    await host.start()
    receipt, later = await world.send(host, "hello"), await world.send(host, "next")
    run = await waited_out(world, receipt)
    assert run.error is not None
    assert (run.status, run.error.code) == ("failed", "gave_up")
    assert [event.error["code"] for event in world.events.of(TaskFailed)] == ["gave_up"]
    assert (await waited_out(world, later)).status == "completed"
