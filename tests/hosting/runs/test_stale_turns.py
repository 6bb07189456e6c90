"""A worker that was believed dead and comes back changes nothing, and runs of a session start in their order."""

import asyncio
import logging
from typing import Any

import pytest

from sophon import Message
from sophon.stores.run_fence import StaleRun
from sophon.stores.sessions.contract import SessionRecord
from sophon_hosting import worker
from sophon_hosting.events.event_bus import EventBus
from sophon_hosting.runs import outcomes
from sophon_hosting.runs.active_runs import ActiveRun
from sophon_hosting.runs.delivery_settlement import RETRY_SECONDS
from sophon_hosting.store.events.logged_event import LoggedEvent
from sophon_hosting.store.runs.contract import OutdatedRun, Run, RunOutcome
from sophon_hosting.store.runs.contract import Run as StoredRun

ANSWER = RunOutcome("completed", {"text": "of the other worker", "finish_reason": "stop", "usage": {}})


async def continue_elsewhere(world: Any, receipt: Any) -> StoredRun:
    """What another process does once it believes that the worker is dead."""
    begun = await world.store.runs.begin(receipt.task_id, world.clock.now())
    assert begun.verdict == "begun"
    return begun.run


async def read_what_is_of_the_run(world: Any, receipt: Any) -> list[object]:
    return [
        await world.run(receipt),
        await world.store.sessions.load_history("s"),
        [each.name for each in await world.store.events.list_after("s", 0)],
        await world.store.journal.load_entries(receipt.task_id),
    ]


async def left(world: Any, host: Any, receipt: Any) -> None:
    """Wait until the worker has let the run go."""

    async def is_over() -> bool:
        return host.active_runs.get(receipt.task_id) is None

    await world.until(is_over)
    await world.rest(host)


@pytest.mark.parametrize("text", ["Stall here", "wait for it"])
async def test_a_turn_that_was_continued_elsewhere_ends_without_outcome_and_events(
    world: Any, host: Any, text: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "sophon")
    receipt = await world.send(host, text)

    async def is_busy() -> bool:
        return bool(world.begun)

    await world.until(is_busy)
    await host.event_bus.flush("s")
    assert (await continue_elsewhere(world, receipt)).starts == 2
    before = await read_what_is_of_the_run(world, receipt)
    world.release.set()
    await left(world, host, receipt)
    assert await read_what_is_of_the_run(world, receipt) == before
    assert [each.message for each in caplog.records if "elsewhere" in each.message] == [
        f"run {receipt.task_id} was continued elsewhere"
    ]
    # The other worker ends it, and the entry that is delivered again changes nothing.
    assert (await world.store.runs.finish(receipt.task_id, ANSWER, start=2)).is_first
    await world.clock.advance(RETRY_SECONDS)
    await world.rest(host)
    assert (await world.run(receipt)).response["text"] == "of the other worker"
    assert (await host.queue.statistics()).waiting == 0


async def test_a_turn_that_another_worker_begins_first_is_not_told_as_started_here(
    world: Any, host: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    load_history = world.store.sessions.load_history

    async def load_slowly(session_id: str) -> Any:
        """The store takes its time: what is pending is stored meanwhile, and another worker begins the run."""
        history = await load_history(session_id)
        await host.event_bus.flush(session_id)
        [run] = await world.store.runs.list_unfinished()
        await world.store.runs.begin(run.id, world.clock.now())
        return history

    monkeypatch.setattr(world.store.sessions, "load_history", load_slowly)
    await left(world, host, await world.send(host, "hello"))
    assert [each.name for each in await world.store.events.list_after("s", 0)] == ["task_queued"]


@pytest.mark.parametrize("text", ["Stall here", "wait for it"])
async def test_without_the_fence_the_turn_that_comes_back_writes_its_outcome(
    world: Any, host: Any, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (worker, outcomes):
        monkeypatch.setattr(module, "begin_fence", lambda active_run, event_bus: None)
    monkeypatch.setattr(ActiveRun, "seen_starts", None)
    receipt = await world.send(host, text)

    async def is_busy() -> bool:
        return bool(world.begun)

    await world.until(is_busy)
    await continue_elsewhere(world, receipt)
    world.release.set()
    assert (await world.ended(receipt)).status == "completed"
    assert not (await world.store.runs.finish(receipt.task_id, ANSWER, start=3)).is_first


async def test_a_task_that_was_continued_elsewhere_and_lost_there_runs_to_its_end_here(world: Any, host: Any) -> None:
    receipt = await world.send(host, "wait for it")
    await world.status(receipt, "running")
    await continue_elsewhere(world, receipt)
    world.release.set()
    await left(world, host, receipt)
    await world.clock.advance(RETRY_SECONDS)
    ended = await world.ended(receipt)
    assert (ended.status, ended.starts) == ("completed", 3)
    assert (await world.said("s"))[-1] == "WAIT FOR IT"


async def test_a_cancellation_of_a_turn_that_was_continued_elsewhere_ends_nothing(world: Any, host: Any) -> None:
    receipt = await world.send(host, "wait for it")
    await world.status(receipt, "running")
    await continue_elsewhere(world, receipt)
    host.active_runs.get(receipt.task_id).cancel()
    await left(world, host, receipt)
    assert (await world.run(receipt)).status == "running"


async def begin_elsewhere(world: Any, receipt: Any, text: str) -> None:
    """What a process that stands still from then on has stored."""
    said = SessionRecord("message", receipt.task_id, Message("user", text))
    assert (await world.store.runs.begin(receipt.task_id, world.clock.now(), records=[said])).verdict == "begun"


async def count_messages(world: Any, receipt: Any, text: str) -> int:
    """How often the conversation has the message of a run, said by it or by the record of its end."""
    records = await world.store.sessions.list_turn("s", receipt.task_id)
    return sum(text in (each.data.get("text"), each.message and each.message.content) for each in records)


@pytest.mark.parametrize("is_checked", [True, False])
async def test_a_run_that_another_process_begins_while_it_is_cancelled_has_its_message_once(
    world: Any, is_checked: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not is_checked:  # then what was read decides the records
        monkeypatch.setattr(ActiveRun, "seen_starts", None)
    host = world.host()  # its worker takes nothing
    receipt = await world.send(host, "hello")
    run = await world.run(receipt)
    await begin_elsewhere(world, receipt, "hello")
    await host.execution.terminator.cancel_inactive(run)
    assert (await world.run(receipt)).status == "cancelled"
    assert await count_messages(world, receipt, "hello") == (1 if is_checked else 2)


async def test_a_cancelled_run_that_was_started_since_it_was_read_is_not_begun(world: Any) -> None:
    receipt = await world.send(world.host(), "hello")
    await begin_elsewhere(world, receipt, "hello")
    await world.store.runs.request_cancel(receipt.task_id)
    said = SessionRecord("message", receipt.task_id, Message("user", "hello"))
    with pytest.raises(OutdatedRun):
        await world.store.runs.begin(receipt.task_id, world.clock.now(), records=[said], seen_starts=0)
    assert await count_messages(world, receipt, "hello") == 1
    begun = await world.store.runs.begin(receipt.task_id, world.clock.now(), seen_starts=1)
    assert begun.verdict == "cancelled"


@pytest.mark.parametrize("is_next_process", [False, True])
async def test_a_turn_that_is_cancelled_before_it_begins_again_has_its_message_once(
    world: Any, is_next_process: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = world.host()
    receipt = await world.send(host, "hello", instructions="Be brief.")
    await begin_elsewhere(world, receipt, "hello")
    load_history, reads = world.store.sessions.load_history, asyncio.Event()

    async def load_slowly(session_id: str) -> Any:
        if not reads.is_set():
            reads.set()
            await world.release.wait()
        return await load_history(session_id)

    monkeypatch.setattr(world.store.sessions, "load_history", load_slowly)
    if is_next_process:  # which reads the run, and knows that it has begun before
        host = world.host()
    await host.start()
    await reads.wait()
    assert (await host.cancel(receipt.task_id)).status == "cancelled"
    assert await count_messages(world, receipt, "hello") == 1


async def test_what_a_stale_turn_has_spent_is_in_the_totals(world: Any, host: Any) -> None:
    receipt = await world.send(host, "wait for it")
    await world.status(receipt, "running")
    await continue_elsewhere(world, receipt)
    world.release.set()
    await left(world, host, receipt)
    [total] = await world.store.usage.list_totals()
    assert total.usage.input_tokens > 0


@pytest.mark.parametrize("session_events", [True, False])
async def test_a_run_waits_for_one_that_the_queue_has_lost(world: Any, host: Any, session_events: bool) -> None:
    await world.store.runs.accept(Run("lost", "s", "ada", text="first"))
    if not session_events:
        # A resumed run is begun by the worker, not by the chain.
        await world.store.runs.accept(Run("later", "s", "ada", text="second"))
        host.execution._worker._begins_in_chain = False
        await host.queue.put(world.resume(await world.store.runs.get("later")))
    else:
        await world.send(host, "second")
    [_, later] = await world.store.runs.list_unfinished("s")

    async def is_held() -> bool:
        statistics = await host.queue.statistics()
        return (statistics.held_lanes, statistics.in_flight) == (1, 0)

    await world.until(is_held)
    assert (await world.store.runs.get(later.id)).starts == 0
    assert await world.said("s") == []
    for _ in range(10):  # the reconciler puts the lost one, and the lane goes on
        await world.clock.advance(1.0)
    async with world.clock.timeout(None):

        async def are_over() -> bool:
            return not await world.store.runs.list_unfinished("s")

        await world.until(are_over)
    assert [each for each in await world.said("s") if each.isupper()] == ["FIRST", "SECOND"]
    assert (await world.store.runs.get(later.id)).starts == 1
    assert await host.queue.list_dead_letters() == []


async def test_a_lane_is_not_held_for_a_run_that_ended_meanwhile(
    world: Any, host: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    await world.store.runs.accept(Run("early", "s", "ada", text="first"))
    hold = host.queue.hold_lane

    async def end_before(session_id: str, task_id: str) -> bool:
        await world.store.runs.finish("early", RunOutcome("cancelled"))
        return await hold(session_id, task_id)

    monkeypatch.setattr(host.queue, "hold_lane", end_before)
    receipt = await world.send(host, "second")

    async def is_back() -> bool:
        statistics = await host.queue.statistics()
        return (statistics.waiting, statistics.in_flight) == (1, 0)

    await world.until(is_back)
    assert (await host.queue.statistics()).held_lanes == 0
    await world.clock.advance(RETRY_SECONDS)
    assert (await world.ended(receipt)).status == "completed"


async def test_a_stale_fence_of_a_session_refuses_nothing_of_others(world: Any, host: Any) -> None:
    receipt = await world.send(host, "wait for it")
    await world.status(receipt, "running")
    await continue_elsewhere(world, receipt)
    # Something else of the session is stored by this process, before the turn itself has noticed.
    bus: EventBus = host.event_bus
    stored: list[str] = []

    async def write(rows: Any, staged: Any) -> Any:
        seq = await world.store.runs.record("s", staged, [*rows(()), LoggedEvent("session_renamed", {}, "")])
        stored.append("session_renamed")
        return None, seq

    await bus.commit("s", write)
    assert stored == ["session_renamed"]
    await left(world, host, receipt)
    assert (await world.run(receipt)).status == "running"


async def test_the_error_names_the_run_and_the_start() -> None:
    error = StaleRun("r", 2)
    assert str(error) == "start 2 of run r can write nothing: the run was continued elsewhere"
