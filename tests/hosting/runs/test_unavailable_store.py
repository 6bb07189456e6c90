"""A store that cannot be written for a while: nothing new is taken, and what was accepted ends once."""

import asyncio
import logging
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from sophon.errors import StoreError, StoreUnavailable
from sophon.events import ModelAttempt, TaskCompleted, TaskFailed
from sophon.messages import Usage
from sophon.stores.usage.contract import Period, UsageRow
from sophon.testing import VirtualClock
from sophon_hosting.host import Host
from sophon_hosting.queue.in_memory import DEFAULT_MAX_DELIVERIES
from sophon_hosting.runs.unrecorded_usage import UnrecordedUsageFile
from sophon_hosting.store.sql_host_store import SqlHostStore
from tests.databases import SQLITE, copy_database
from tests.refusing_writes import allow_writes, notice, refuse_writes


@pytest.fixture
def store_url(tmp_path: Path) -> str:
    copy_database(tmp_path)
    return SQLITE


@pytest.fixture
async def store(store_url: str, tmp_path: Path, clock: VirtualClock) -> AsyncIterator[SqlHostStore]:
    store = SqlHostStore(store_url, folder=tmp_path, clock=clock)
    await store.open()
    yield store
    allow_writes(store)
    await store.close()


async def unavailable(store: SqlHostStore) -> None:
    async with asyncio.timeout(30):
        while store.health.is_available:
            await asyncio.sleep(0)


async def waits_for_store(host: Host) -> None:
    async with asyncio.timeout(30):
        while not any(each.is_waiting_for_store for each in host.active_runs):
            await asyncio.sleep(0)


async def ended_later(world, receipt):
    """Let time pass until a run has its outcome."""

    async def over() -> bool:
        await world.clock.advance(1)
        return (await world.run(receipt)).is_finished

    await world.until(over)
    return await world.ended(receipt)


async def test_a_message_is_refused_with_the_reason_until_the_store_can_be_written(world, host, store) -> None:
    await refuse_writes(store)
    with pytest.raises(StoreUnavailable, match="the store is unavailable: the store is read-only"):
        await world.send(host, "hello")
    allow_writes(store)
    with pytest.raises(StoreUnavailable):  # without a look at the database
        await world.send(host, "hello")
    async with asyncio.timeout(30):
        while not store.health.is_available:  # the monitor may begin to wait after the first step
            await world.clock.advance(1)
            await asyncio.sleep(0)
    assert (await world.ended(await world.send(host, "hello"))).status == "completed"


async def test_an_answer_that_cannot_be_written_is_kept_and_told_once(world, host, store, caplog) -> None:
    receipt = await world.send(host, "wait a")
    await world.until(lambda: started(world))
    refuse_from_the_outcome_on(store)
    with caplog.at_level(logging.WARNING):
        world.release.set()
        await waits_for_store(host)
        for _ in range(20):
            await world.clock.advance(5)
        allow_writes(store)
        run = await ended_later(world, receipt)
    assert (run.status, world.begun) == ("completed", ["a"])
    assert await world.said("s") == ["wait a", "WAIT A"]
    assert (len(world.events.of(TaskCompleted)), world.events.of(TaskFailed)) == (1, [])
    assert [record for record in caplog.records if record.exc_info] == []
    told = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    assert sum("is unavailable" in line for line in told) == sum("available again" in line for line in told) == 1
    assert len(told) == 2


async def test_while_the_store_is_unavailable_no_run_is_said_to_have_failed(world, host, store, caplog) -> None:
    receipt = await world.send(host, "wait a")
    await world.until(lambda: started(world))
    refuse_from_the_outcome_on(store)
    with caplog.at_level(logging.INFO):
        world.release.set()
        await waits_for_store(host)
    told = [record.getMessage() for record in caplog.records]
    assert "turn ended, its outcome waits for the store" in told
    assert "turn ended" not in told
    assert not [line for line in told if "failed" in line]
    allow_writes(store)
    assert (await ended_later(world, receipt)).status == "completed"


def refuse_from_the_outcome_on(store: SqlHostStore) -> None:
    """Let writes fail as soon as an outcome is to be written."""
    finish = store.runs.finish

    async def refuse_first(*arguments, **more):
        store.runs.finish = finish
        await refuse_writes(store)
        return await finish(*arguments, **more)

    store.runs.finish = refuse_first


async def started(world) -> bool:
    return bool(world.begun)


async def test_a_tool_result_waits_for_the_store_and_no_tool_and_no_start_is_repeated(world, host, store) -> None:
    receipt = await world.send(host, "Stall here")
    await world.until(lambda: started(world))
    await refuse_writes(store)
    world.release.set()
    await unavailable(store)
    for _ in range(20):
        await world.clock.advance(5)
    assert (await world.run(receipt)).status == "running"
    allow_writes(store)
    run = await ended_later(world, receipt)
    assert (run.status, run.starts, world.begun) == ("completed", 1, ["here"])
    assert "Done: here" in run.response["text"]
    assert (len(world.events.of(TaskCompleted)), world.events.of(TaskFailed)) == (1, [])


async def test_a_reply_that_was_paid_for_waits_for_the_store_and_is_settled_once(world, host, store) -> None:
    receipt = await world.send(host, "wait a")
    await world.until(lambda: started(world))
    await refuse_writes(store)
    world.release.set()
    await unavailable(store)
    for _ in range(20):
        await world.clock.advance(5)
    allow_writes(store)
    run = await ended_later(world, receipt)
    assert (run.status, run.starts, world.begun) == ("completed", 1, ["a"])
    settled = sum(total.calls for total in await store.usage.list_totals(session_id="s"))
    assert (settled, len(world.events.of(ModelAttempt))) == (1, 1)


LIMITED = {"Budget": {"Providers": {"*": {"DailyTokens": 1_000_000}}}}
"""With a limit the usage of each call is settled while the turn runs: a write in the middle of it."""


async def test_a_turn_that_waits_for_the_store_ends_at_its_time_limit(world, store) -> None:
    host = world.host({"AgentExecution": {"MaxExecutionTime": "00:10:00"}, **LIMITED})
    await host.start()
    receipt = await world.send(host, "Stall here")
    await world.until(lambda: started(world))
    await refuse_writes(store)
    world.release.set()
    await unavailable(store)
    await world.clock.advance(599)
    assert not any(each.is_waiting_for_store for each in host.active_runs)
    await world.clock.advance(2)
    await waits_for_store(host)
    allow_writes(store)
    run = await ended_later(world, receipt)
    assert (run.status, run.error.code, world.begun) == ("failed", "timeout", ["here"])


async def test_a_turn_that_is_cancelled_while_it_settles_leaves_nothing_reserved(world, store) -> None:
    host = world.host(LIMITED)
    await host.start()
    receipt = await world.send(host, "wait a")
    await world.until(lambda: started(world))
    assert await store.usage.reserved() > 0
    await refuse_writes(store)
    world.release.set()
    await unavailable(store)
    next(iter(host.active_runs)).cancel()
    await waits_for_store(host)
    allow_writes(store)
    assert (await ended_later(world, receipt)).status == "cancelled"

    async def is_settled() -> bool:
        await world.clock.advance(5)
        return await store.usage.reserved() == 0

    await world.until(is_settled)


async def test_a_turn_that_waits_for_the_store_can_be_cancelled(world, host, store) -> None:
    receipt = await world.send(host, "Stall here")
    await world.until(lambda: started(world))
    await refuse_writes(store)
    world.release.set()
    await unavailable(store)
    next(iter(host.active_runs)).cancel()
    await waits_for_store(host)
    allow_writes(store)
    run = await ended_later(world, receipt)
    assert (run.status, world.begun) == ("cancelled", ["here"])


def refuse_from_the_question_on(host: Host, store: SqlHostStore, method: str = "request") -> None:
    """Let writes fail as soon as the gate is to store a question."""
    ask = getattr(host.services.approvals, method)

    async def refuse_first(*arguments):
        setattr(host.services.approvals, method, ask)
        await refuse_writes(store)
        return await ask(*arguments)

    setattr(host.services.approvals, method, refuse_first)


async def test_the_time_to_decide_begins_when_the_question_is_stored(world, host, store) -> None:
    refuse_from_the_question_on(host, store)
    receipt = await world.send(host, "Pay Bob")
    await unavailable(store)
    for _ in range(80):
        await world.clock.advance(5)
    allow_writes(store)

    allowed_at = world.clock.now()

    async def is_suspended() -> bool:
        await world.clock.advance(0.05)  # the turn sleeps before it repeats what was refused
        return (await world.run(receipt)).status == "suspended"

    await world.until(is_suspended)
    approval = await world.suspended(host, receipt)
    expires_at = (await store.approvals.get(approval)).request.expires_at
    assert expires_at >= allowed_at + timedelta(minutes=5)
    await world.clock.advance((expires_at - world.clock.now() - timedelta(minutes=1)).total_seconds())
    await host.approvals.decide(approval, world.approve, "ada")
    assert (await world.ended(receipt)).response["text"] == "Done: paid Bob"


async def test_interruptions_by_the_store_never_give_a_task_up(world, host, store) -> None:
    begin, refused = store.runs.begin, []

    async def refuse_the_first(*arguments, **more):
        if len(refused) < 2 * DEFAULT_MAX_DELIVERIES:
            refused.append(arguments)
            raise StoreUnavailable("store", "locked", "another process keeps it locked")
        return await begin(*arguments, **more)

    store.runs.begin = refuse_the_first
    run = await ended_later(world, await world.send(host, "hello"))
    assert (run.status, len(refused)) == ("completed", 2 * DEFAULT_MAX_DELIVERIES)


async def test_no_turn_starts_and_no_model_is_called_while_the_store_is_unavailable(world, store) -> None:
    host = world.host()
    await host.queue.pause()
    await host.start()
    receipt = await world.send(host, "wait a")
    world.release.set()
    await refuse_writes(store)
    await notice(store)
    await host.queue.resume()
    for _ in range(20):
        await world.clock.advance(5)
    assert (world.begun, (await world.run(receipt)).status) == ([], "queued")
    allow_writes(store)
    assert ((await ended_later(world, receipt)).status, world.begun) == ("completed", ["a"])


async def test_a_shutdown_does_not_wait_for_the_store_and_the_next_start_ends_the_run(world, host, store) -> None:
    receipt = await world.send(host, "wait a")
    await world.until(lambda: started(world))
    await refuse_writes(store)
    world.release.set()
    await unavailable(store)
    async with asyncio.timeout(30):
        await host.shutdown(grace_seconds=0)
    allow_writes(store)
    await store.maintenance.probe()
    following = world.host()
    await following.start()
    assert (await world.ended(receipt)).status == "completed"
    assert len(world.events.of(TaskCompleted)) == 1


async def test_with_only_the_reserve_of_space_left_turns_end_and_nothing_is_accepted(world, store) -> None:
    host = world.host()
    await host.start()
    receipt = await world.send(host, "wait a")
    await world.until(lambda: started(world))
    store.health.record_free_space(1)
    with pytest.raises(StoreUnavailable, match="nearly full"):
        await world.send(host, "later")
    world.release.set()
    assert (await world.ended(receipt)).status == "completed"


async def test_the_loops_of_a_host_survive_it_without_a_traceback(world, host, store, caplog) -> None:
    await world.suspended(host, await world.send(host, "Pay Bob"))
    loops = set(host._loops.tasks)
    await refuse_writes(store)
    await notice(store)
    with caplog.at_level(logging.WARNING):
        for _ in range(40):
            await world.clock.advance(60)
    assert [record for record in caplog.records if record.exc_info] == []
    assert loops
    assert all(not task.done() for task in loops)
    allow_writes(store)
    await world.clock.advance(60)
    async with asyncio.timeout(30):
        await store.health.wait_until_available()


async def used_calls(store: SqlHostStore) -> int:
    return sum(total.calls for total in await store.usage.list_totals())


@pytest.mark.parametrize("waits_with_outcome", [True, False])
async def test_a_stop_without_the_store_loses_no_usage(world, store, tmp_path, waits_with_outcome) -> None:
    first = world.host()
    await first.start()
    receipt = await world.send(first, "wait a")
    await world.until(lambda: started(world))
    if waits_with_outcome:
        refuse_from_the_outcome_on(store)
        world.release.set()
        await waits_for_store(first)
    else:
        await refuse_writes(store)
    await first.shutdown(grace_seconds=0)
    world.release.set()
    kept = next(tmp_path.glob("**/unrecorded-usage-*.jsonl"))
    assert (kept.stat().st_mode & 0o777, await used_calls(store)) == (0o600, 0)
    with kept.open("ab") as file:
        file.write(b'{"provider": "cut o')

    allow_writes(store)
    second = world.host()
    await second.start()

    assert (await ended_later(world, receipt)).status == "completed"
    assert world.begun == ["a", "a"]
    assert await used_calls(store) == 2
    assert not kept.exists()


async def test_of_two_processes_that_start_at_once_one_records_what_the_last_stop_kept(store, tmp_path) -> None:
    one, other = UnrecordedUsageFile(store, tmp_path), UnrecordedUsageFile(store, tmp_path)
    now = datetime(2026, 1, 31, tzinfo=UTC)
    one.append([UsageRow("p", "m", "reply", "s", "r", Usage(20, 5), Period("2026-01-31", "2026-01"), now, 3)])
    await refuse_writes(store)
    for _ in range(2):
        with pytest.raises(StoreError):
            await one.record()
    allow_writes(store)
    await asyncio.gather(one.record(), other.record())
    assert await used_calls(store) == 3
    assert not list(tmp_path.glob("**/unrecorded-usage-*"))


async def test_usage_that_nothing_can_take_is_in_the_log(store, tmp_path, caplog) -> None:
    unwritable = UnrecordedUsageFile(store, tmp_path)
    unwritable.path = Path("/proc/nowhere/usage.jsonl")
    now = datetime(2026, 1, 31, tzinfo=UTC)
    unwritable.append([UsageRow("p", "m", "reply", "s", "r", Usage(20, 5), Period("2026-01-31", "2026-01"), now, 3)])
    assert "usage is lost" in caplog.text
    assert "p/m: 3 calls" in caplog.text
