"""What every store promises where several processes run turns: fences, order within a session, conditional writes."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import TypeAlias

import pytest

from sophon.approvals import ApprovalRequest
from sophon.errors import Busy
from sophon.messages import Message, ToolCall, ToolResult, Usage
from sophon.stores import JournalEntry, SessionRecord, Store
from sophon.stores.run_fence import RunFence, StaleRun
from sophon.stores.unit_of_work import UnitOfWork
from sophon.stores.usage.contract import Period, UsageRow
from sophon.tools.tool import Risk
from sophon_channels.outbound_entry import OutboundEntry
from sophon_hosting.store.events.logged_event import LoggedEvent
from sophon_hosting.store.runs.contract import PendingRun, Run, RunOutcome
from sophon_hosting.store.runs.sql_transactions import checkpoint_write
from tests.units_of_work import approval_write, call_write, store_checkpoint

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
OLD = RunFence("r", 1)
ANSWER = RunOutcome("completed", {"text": "of the hung worker"})
CANCELLED = RunOutcome("cancelled")
EVENT = LoggedEvent("tool_call_started", {}, "r")
SAID = SessionRecord("message", "r", Message("assistant", "of the hung worker"))
REQUEST = ApprovalRequest.from_call(ToolCall("c2", "pay", {}), "r", Risk.HIGH, session_id="s")
SPENT = UsageRow("p", "m", "reply", "s", "r", Usage(3, 2, 9), Period("2026-01-01", "2026-01"), NOON)

Write: TypeAlias = Callable[[Store], Awaitable[object]]


STALE_WRITES: dict[str, Write] = {
    "checkpoint": lambda store: store.runs.record(
        "s", UnitOfWork([checkpoint_write("r", {"of": "the hung worker"})], [OLD]), []
    ),
    "call": lambda store: store.runs.record("s", UnitOfWork([call_write("r", JournalEntry("c2", "pay"))], [OLD]), []),
    "approval": lambda store: store.runs.record("s", UnitOfWork([approval_write(REQUEST, NOON)], [OLD]), []),
    "events": lambda store: store.runs.record("s", UnitOfWork(fences=[OLD]), [EVENT]),
    "events of a mixed transaction": lambda store: store.runs.record(
        "s", UnitOfWork(fences=[RunFence("r", 2), OLD]), [EVENT]
    ),
    "suspension": lambda store: store.runs.suspend("r", {"of": "the hung worker"}, ["apr_1"], start=1),
    "outcome": lambda store: store.runs.finish(
        "r",
        ANSWER,
        records=[SAID],
        outbound=[OutboundEntry("e", "r", "telegram", "bot", "7", "text", {"text": "x"})],
        usage=[SPENT],
        events=lambda _: [EVENT],
        start=1,
    ),
    "records": lambda store: store.sessions.append("s", [SAID], fence=OLD),
    "journal": lambda store: store.journal.delete("r", fence=OLD),
    "start": lambda store: store.runs.begin("r", NOON, records=[SAID], events=lambda _: [EVENT], seen_starts=1),
}


async def accept(store: Store, *names: str, session_id: str = "s") -> None:
    for name in names:
        await store.runs.accept(Run(name, session_id, "ada"))


async def start_twice(store: Store) -> None:
    """A run whose first worker hung after a call, and which a second worker has continued."""
    await accept(store, "r")
    await store.runs.begin("r", NOON)
    await store.runs.record("s", UnitOfWork([call_write("r", JournalEntry("c1", "look"))], [OLD]), [])
    assert (await store.runs.begin("r", NOON)).run.starts == 2


async def read_all(store: Store) -> list[object]:
    """Everything that a stale write could change."""
    return [
        await store.runs.get("r"),
        await store.sessions.load_history("s"),
        await store.events.list_after("s", 0),
        await store.journal.load_entries("r"),
        await store.approvals.list(),
        await store.audit.list_after(0),
        await store.outbox.list(),
        await store.usage.list_totals(),
    ]


@pytest.mark.parametrize("name", STALE_WRITES)
async def test_a_worker_that_comes_back_writes_nothing(store: Store, name: str) -> None:
    await start_twice(store)
    before = await read_all(store)
    with pytest.raises(StaleRun) as caught:
        await STALE_WRITES[name](store)
    assert (caught.value.run_id, caught.value.start, caught.value.code) == ("r", 1, "stale_run")
    assert await read_all(store) == before


UNFENCED_WRITES: dict[str, Write] = {
    "checkpoint": lambda store: store_checkpoint(store, "r", {"of": "the hung worker"}),
    "call": lambda store: store.runs.record("s", UnitOfWork([call_write("r", JournalEntry("c2", "pay"))]), []),
    "events": lambda store: store.runs.record("s", UnitOfWork(), [EVENT]),
    "suspension": lambda store: store.runs.suspend("r", {"of": "the hung worker"}, ["apr_1"]),
    "outcome": lambda store: store.runs.finish("r", ANSWER),
    "records": lambda store: store.sessions.append("s", [SAID]),
    "journal": lambda store: store.journal.delete("r"),
}


@pytest.mark.parametrize("name", UNFENCED_WRITES)
async def test_without_the_fence_the_write_of_the_hung_worker_lands(store: Store, name: str) -> None:
    await start_twice(store)
    before = await read_all(store)
    await UNFENCED_WRITES[name](store)
    assert await read_all(store) != before


async def test_the_start_that_runs_writes_all_of_it(store: Store) -> None:
    await start_twice(store)
    fence = RunFence("r", 2)
    await store.runs.record("s", UnitOfWork([checkpoint_write("r", {"n": 1})], [fence]), [])
    assert (await store.runs.get("r")).checkpoint == {"n": 1}
    await store.runs.record("s", UnitOfWork(fences=[fence]), [EVENT])
    await store.sessions.append("s", [SAID], fence=fence)
    await store.journal.delete("r", fence=fence)
    finished = await store.runs.finish("r", ANSWER, start=2)
    assert finished.is_first
    assert (await store.runs.get("r")).starts == 2
    # What it emits after its outcome is still its own.
    await store.runs.record("s", UnitOfWork(fences=[fence]), [EVENT])


async def test_what_a_stale_worker_has_spent_is_recorded(store: Store) -> None:
    await start_twice(store)
    with pytest.raises(StaleRun):
        await store.runs.finish("r", ANSWER, usage=[SPENT], start=1)
    await store.usage.record([SPENT])
    assert [total.usage for total in await store.usage.list_totals()] == [SPENT.usage]


async def test_whoever_ends_a_running_run_fences_its_worker_out(store: Store) -> None:
    await accept(store, "r")
    await store.runs.begin("r", NOON)
    assert (await store.runs.finish("r", CANCELLED)).is_first
    with pytest.raises(StaleRun):
        await store.runs.record("s", UnitOfWork(fences=[OLD]), [EVENT])
    with pytest.raises(StaleRun):
        await store.runs.finish("r", ANSWER, start=1)


async def test_the_fence_of_a_deleted_run_keeps_its_writes_out_of_a_new_session_of_that_id(store: Store) -> None:
    await accept(store, "r")
    await store.runs.begin("r", NOON)
    await store.sessions.delete("s")
    await accept(store, "later")
    with pytest.raises(StaleRun):
        await store.sessions.append("s", [SAID], fence=OLD)
    with pytest.raises(StaleRun):
        await store.runs.record("s", UnitOfWork(fences=[OLD]), [EVENT])
    assert (await store.sessions.load_history("s")).messages == []
    assert await store.events.list_after("s", 0) == []


async def test_a_start_that_was_read_before_another_is_refused(store: Store) -> None:
    await accept(store, "r")
    assert (await store.runs.begin("r", NOON, seen_starts=0)).verdict == "begun"
    with pytest.raises(StaleRun):
        await store.runs.begin("r", NOON, seen_starts=0)
    assert (await store.runs.begin("r", NOON, seen_starts=1)).run.starts == 2


async def test_a_run_waits_for_the_earlier_ones_of_its_session(store: Store) -> None:
    await accept(store, "a", "b", "c")
    await accept(store, "other", session_id="t")
    waits = await store.runs.begin("c", NOON, records=[SAID], events=lambda _: [EVENT])
    assert (waits.verdict, waits.waits_for, waits.run.status) == ("waits", "a", "queued")
    assert (await store.sessions.load_history("s")).messages == []
    assert await store.events.list_after("s", 0) == []
    assert (await store.runs.begin("other", NOON)).verdict == "begun"
    await store.runs.begin("a", NOON)
    assert (await store.runs.begin("b", NOON)).waits_for == "a"
    await store.runs.suspend("a", {}, ["apr_1"])
    assert (await store.runs.begin("b", NOON)).waits_for == "a"
    await store.runs.finish("a", CANCELLED)
    assert (await store.runs.begin("c", NOON)).waits_for == "b"
    assert (await store.runs.begin("b", NOON)).verdict == "begun"
    await store.runs.finish("b", ANSWER, start=1)
    assert (await store.runs.begin("c", NOON)).verdict == "begun"


async def test_a_run_that_begins_again_does_not_wait_for_itself(store: Store) -> None:
    await accept(store, "a", "b")
    for starts in (1, 2):
        assert (await store.runs.begin("a", NOON)).run.starts == starts
    await store.runs.suspend("a", {}, [])
    assert (await store.runs.begin("a", NOON)).verdict == "begun"


async def test_a_cancelled_run_and_one_that_is_over_wait_for_nobody(store: Store) -> None:
    await accept(store, "a", "b", "c")
    await store.runs.request_cancel("b")
    await store.runs.finish("c", CANCELLED)
    assert (await store.runs.begin("b", NOON)).verdict == "cancelled"
    assert (await store.runs.begin("c", NOON)).verdict == "over"


async def test_who_does_not_run_a_run_ends_it_unless_it_is_running(store: Store) -> None:
    await accept(store, "a")
    await store.runs.begin("a", NOON)
    before = await store.runs.get("a")
    refused = await store.runs.finish("a", CANCELLED, records=[SAID], usage=[SPENT], unless_running=True)
    assert (refused.is_first, refused.is_running) == (False, True)
    assert await store.runs.get("a") == before
    assert (await store.sessions.load_history("s")).messages == []
    assert await store.usage.list_totals() == []
    await store.runs.suspend("a", {}, ["apr_1"], start=1)
    ended = await store.runs.finish("a", CANCELLED, records=[SAID], unless_running=True)
    assert (ended.is_first, ended.is_running) == (True, False)
    again = await store.runs.finish("a", CANCELLED, unless_running=True)
    assert (again.is_first, again.is_running) == (False, False)


async def test_a_queued_run_is_ended_by_who_does_not_run_it(store: Store) -> None:
    await accept(store, "a")
    assert (await store.runs.finish("a", CANCELLED, unless_running=True)).is_first
    assert (await store.runs.get("a")).starts == 0


async def test_running_runs_are_listed_in_the_order_of_acceptance(store: Store) -> None:
    for name in "cab":
        await accept(store, name, session_id=name)
        await store.runs.begin(name, NOON)
    await accept(store, "queued", session_id="q")
    await store.runs.request_cancel("a")
    await store.runs.suspend("b", {}, ["apr_1"])
    expected = [PendingRun("c", False, "c", "ada"), PendingRun("a", True, "a", "ada")]
    assert await store.runs.list_running() == expected
    await store.runs.finish("c", CANCELLED)
    assert await store.runs.list_running() == expected[1:]


async def test_a_session_with_unfinished_runs_is_deleted_only_on_purpose(store: Store) -> None:
    await accept(store, "a")
    for _ in range(2):
        with pytest.raises(Busy, match="'s'"):
            await store.sessions.delete("s", unless_unfinished=True)
        await store.runs.begin("a", NOON)
    assert await store.sessions.find("s") is not None
    await store.runs.finish("a", CANCELLED)
    await store.sessions.delete("s", unless_unfinished=True)
    assert await store.sessions.find("s") is None
    await accept(store, "b")
    await store.sessions.delete("s")
    assert await store.runs.list() == []


async def test_the_journal_of_calls_is_kept_for_the_start_that_runs(store: Store) -> None:
    await start_twice(store)
    with pytest.raises(StaleRun):
        await store.runs.record(
            "s",
            UnitOfWork([call_write("r", JournalEntry("c1", "look", ToolResult("c1", "look", "found")))], [OLD]),
            [],
        )
    assert (await store.journal.load_entries("r"))["c1"].result is None
