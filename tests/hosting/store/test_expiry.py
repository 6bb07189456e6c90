"""What every store promises about the deletion of old data."""

from datetime import UTC, datetime, timedelta

import pytest

from sophon.approvals import ApprovalRequest, Decision
from sophon.errors import NotFound
from sophon.messages import ToolCall, ToolResult, Usage
from sophon.stores import Period, Store, UsageRow
from sophon.testing import VirtualClock
from sophon.tools.tool import Risk
from sophon_channels.outbound_entry import OutboundEntry
from sophon_hosting.store.runs.contract import InboundKey, Run, RunOutcome

KEY = InboundKey("telegram", "bot", "1")
DONE = RunOutcome("completed", {"text": "hello"})


def entry(name: str) -> OutboundEntry:
    return OutboundEntry(name, None, "telegram", "bot", "7", "text")


def question(session_id: str) -> ApprovalRequest:
    return ApprovalRequest.from_call(
        ToolCall("c", "pay", {}),
        f"run of {session_id}",
        Risk.HIGH,
        editable=True,
        expires_at=None,
        session_id=session_id,
    )


async def finished(store: Store, clock: VirtualClock, *outbound: OutboundEntry) -> datetime:
    """A run that has ended; a time after its end."""
    await store.runs.accept(Run("r", "s", "ada"), KEY)
    await store.runs.begin("r", clock.now())
    await store.runs.finish("r", DONE, outbound=outbound)
    return clock.now() + timedelta(seconds=1)


async def test_a_run_that_ended_before_is_deleted_with_its_key_and_not_found(store: Store, clock: VirtualClock) -> None:
    after = await finished(store, clock)
    assert await store.runs.expire(clock.now() - timedelta(seconds=1)) == 0
    assert await store.runs.expire(after) == 1
    assert await store.runs.find("r") is None
    assert (await store.runs.accept(Run("r2", "s", "ada"), KEY)).created
    assert (await store.sessions.get("s")).id == "s"


async def test_of_many_runs_those_that_ended_before_are_deleted(store: Store, clock: VirtualClock) -> None:
    for number in range(9):
        await store.runs.accept(Run(f"r{number}", "s", "ada"))
        await clock.advance(1)
    for number in (0, 1, 2, 4, 5, 8):
        await store.runs.finish(f"r{number}", DONE)
    before = clock.now()
    await clock.advance(1)
    await store.runs.finish("r3", DONE)
    assert await store.runs.expire(before) == 0
    assert await store.runs.expire(before + timedelta(microseconds=1)) == 6
    assert [run.id for run in await store.runs.list()] == ["r7", "r6", "r3"]


async def test_a_run_that_has_not_ended_or_is_still_to_be_sent_stays(store: Store, clock: VirtualClock) -> None:
    after = await finished(store, clock, entry("e"))
    await store.runs.accept(Run("open", "s", "ada"))
    assert await store.runs.expire(after) == 0


async def test_keys_of_ended_runs_expire_and_the_runs_stay(store: Store, clock: VirtualClock) -> None:
    after = await finished(store, clock)
    assert (await store.runs.expire_keys(after), await store.runs.expire_keys(after)) == (1, 0)
    assert (await store.runs.get("r")).status == "completed"
    assert (await store.runs.accept(Run("again", "s", "ada"), KEY)).created


async def test_sent_entries_expire_and_others_stay(store: Store, clock: VirtualClock) -> None:
    await store.outbox.add([entry("sent"), entry("pending"), entry("dead")])
    await store.outbox.mark_sending("sent")
    await store.outbox.mark_sent("sent", "9")
    await store.outbox.mark_dead("dead", "gone")
    assert await store.outbox.expire(clock.now() + timedelta(seconds=1)) == 1
    assert [each.id for each in await store.outbox.list()] == ["pending", "dead"]


async def test_the_journal_of_an_ended_run_expires(store: Store, clock: VirtualClock) -> None:
    after = await finished(store, clock)
    await store.runs.accept(Run("open", "s", "ada"))
    for run_id in ("r", "r/step", "open", "elsewhere"):
        await store.journal.start(run_id, "c", "pay")
    await store.journal.finish("open", ToolResult("c", "pay", "paid"))
    assert await store.runs.expire_journal(after) == 2
    assert await store.journal.load_entries("r/step") == {}
    assert (
        list(await store.journal.load_entries("open")) == list(await store.journal.load_entries("elsewhere")) == ["c"]
    )


async def test_decided_approvals_expire_unless_a_run_of_the_session_needs_them(
    store: Store, clock: VirtualClock
) -> None:
    after = await finished(store, clock)
    await store.runs.accept(Run("open", "busy", "ada"))
    ids = {}
    for session_id in ("s", "busy"):
        asked = question(session_id)
        ids[session_id] = (await store.approvals.get_or_create(asked, clock.now())).request.id
    await store.approvals.decide(ids["s"], Decision.approve(), clock.now())
    await store.approvals.decide(ids["busy"], Decision.approve(), clock.now())
    assert await store.approvals.expire(after) == 1
    assert await store.approvals.find(ids["s"]) is None
    assert await store.approvals.find(ids["busy"]) is not None


async def test_usage_of_earlier_days_expires_and_the_budget_keeps_its_sums(store: Store, clock: VirtualClock) -> None:
    for day in ("2026-01-30", "2026-01-31"):
        await store.usage.settle(
            None, UsageRow("p", "m", "reply", "s", "r", Usage(3, 4, 5), Period(day, "2026-01"), datetime.now(UTC))
        )
    assert await store.usage.expire("2026-01-31") == 1
    assert [total.day for total in await store.usage.list_totals()] == ["2026-01-31"]
    assert (await store.usage.get_spending("p", Period("2026-01-31", "2026-01"))).micros == 10


async def test_a_pruned_run_is_not_found(store: Store, clock: VirtualClock) -> None:
    await store.runs.expire(await finished(store, clock))
    with pytest.raises(NotFound):
        await store.runs.get("r")
