"""A store that does not take the outcome: it is tried again, told once, and given up in the open."""

import asyncio
from typing import Any

import pytest

from sophon import Decision
from sophon.errors import NotFound, StoreError, StoreUnavailable
from sophon.events import TaskCompleted, TaskFailed
from sophon.testing import VirtualClock
from sophon_hosting.features.queue.dead_letter_retry import retry_task
from sophon_hosting.store.runs.contract import AcceptResult
from sophon_hosting.store.sql_host_store import SqlHostStore


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
def store(clock: VirtualClock) -> SqlHostStore:
    return SqlHostStore("memory://", clock=clock)


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


async def test_an_outcome_whose_trace_cannot_be_read_is_written_whole_when_the_store_is_back(world, store) -> None:
    """A resumed turn reads what an earlier start has traced, before its outcome is written."""
    read, refused = store.traces.find, []

    async def refuse_once(run_id: str) -> Any:
        if world.paid and not refused:
            refused.append(run_id)
            raise StoreUnavailable("memory://", "unreachable", "it is away")
        return await read(run_id)

    store.traces.find = refuse_once
    host = world.host({"Traces": {"Enabled": False}})
    await host.start()
    receipt = await world.send(host, "Pay Bob")
    await host.approvals.decide(await world.suspended(host, receipt), Decision.approve(), "ada")
    run = await waited_out(world, receipt)
    assert (run.status, refused) == ("completed", [run.id])
    assert await world.said("s") == ["Pay Bob", "Done: paid Bob"]


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


async def test_a_dead_letter_whose_failure_was_refused_too_is_reported_later(world, store) -> None:
    store.runs = StubbornRuns(store.runs, 1000)
    host = world.host()
    await host.start()
    receipt, later = await world.send(host, "hello"), await world.send(host, "next")

    async def is_dead() -> bool:
        await world.clock.advance(0.5)
        letters = [letter.entry.task_id for letter in await host.queue.list_dead_letters()]
        return letters == [receipt.task_id] and host.active_runs.get(receipt.task_id) is None

    await world.until(is_dead)
    store.runs._refusals = 0
    for _ in range(30):
        await world.clock.advance(10)
    run = await world.run(receipt)
    assert (run.status, run.error and run.error.code) == ("failed", "gave_up")
    assert (await waited_out(world, later)).status == "completed"


async def given_up(world, store):
    store.runs = StubbornRuns(store.runs, 5)
    host = world.host()
    await host.start()
    receipt = await world.send(host, "hello")
    await waited_out(world, receipt)
    return host, receipt.task_id


async def test_a_task_that_was_given_up_is_a_dead_letter(world, store) -> None:
    host, task = await given_up(world, store)
    assert [letter.entry.task_id for letter in await host.queue.list_dead_letters()] == [task]
    assert (await host.queue.statistics()).dead == 1


async def test_a_retried_dead_letter_runs_its_message_as_a_new_task(world, store) -> None:
    host, task = await given_up(world, store)
    first, second = await retry_task(host, task), await store.runs.get(task)
    again = await store.runs.get(first)
    assert (again.text, again.session_id, again.owner, again.origin) == (
        second.text,
        second.session_id,
        second.owner,
        second.origin,
    )
    await world.until(lambda: is_completed(store, first))
    assert await host.queue.list_dead_letters() == []
    assert (await store.runs.get(task)).status == "failed"
    assert await world.said("s") == ["hello", "hello", "HELLO"]


async def test_a_dead_letter_that_is_retried_twice_at_once_makes_one_task(world, store) -> None:
    host, task = await given_up(world, store)
    await asyncio.gather(retry_task(host, task), retry_task(host, task), return_exceptions=True)
    assert len(await store.runs.list()) == 2
    with pytest.raises(NotFound):
        await retry_task(host, task)


async def test_a_dead_letter_that_is_retried_while_its_session_is_deleted_does_not_bring_it_back(
    world, store, monkeypatch: pytest.MonkeyPatch
) -> None:
    host, task = await given_up(world, store)
    accept = store.runs.accept

    async def behind_deletion(*run: Any, **more: Any) -> AcceptResult:
        await store.sessions.delete("s")  # by another process
        return await accept(*run, **more)

    monkeypatch.setattr(store.runs, "accept", behind_deletion)
    with pytest.raises(NotFound):
        await retry_task(host, task)
    assert (await store.runs.list(), await store.sessions.list()) == ([], [])
    assert await host.queue.list_dead_letters() == []


async def test_the_dead_letters_of_a_deleted_session_are_gone(world, store) -> None:
    host, _ = await given_up(world, store)
    await host.delete_session("s")
    assert await host.queue.list_dead_letters() == []


async def is_completed(store, task: str) -> bool:
    return (await store.runs.get(task)).status == "completed"
