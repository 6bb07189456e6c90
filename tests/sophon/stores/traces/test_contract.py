"""What every store promises about the traces of turns."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from sophon.messages import Message, Usage
from sophon.stores.contract import Store
from sophon.stores.sessions.contract import SessionRecord
from sophon.stores.traces.turn_total import TurnTotal
from sophon.stores.usage.contract import Period
from sophon.traces.trace import (
    ApprovalTrace,
    AttemptTrace,
    NoteTrace,
    PromptPart,
    StageTime,
    StartTrace,
    StepTrace,
    ToolTrace,
    Trace,
    VerdictTrace,
)

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
BLOCKED = VerdictTrace("Shield", "block", "r", 1)
FULL = Trace(
    run_id="r1",
    session_id="s",
    principal="ada",
    channel="telegram",
    started_at=NOON,
    ended_at=NOON + timedelta(seconds=2),
    status="failed",
    trace_id="4" * 32,
    span_id="a" * 16,
    parent_span_id="b" * 16,
    finish_reason="error",
    error={"code": "timeout", "message": "too \0 late\ud800"},
    queued_ms=3,
    working_ms=1500,
    waiting_ms=500,
    usage=Usage(10, 5, 7),
    iterations=2,
    starts=(StartTrace(0.0, 900.5, "suspended"), StartTrace(1400.0, 2000.0, "ended")),
    stages=(StageTime("Budget", "outer", 0, 1, 0.1, 5.5, 0.25, "timeout"),),
    attempts=(AttemptTrace("a/m", "reply", "ok", 1.5, 20, Usage(10, 5, 7), 1, 12, "", "c" * 16, "one"),),
    tools=(ToolTrace("c1", "pay", "denied", 3.0, 4, '{"to": 1}', "d", 11, "high", (BLOCKED,)),),
    approvals=(ApprovalTrace("a1", "tool", "pay", "high", 5.0, 900.0, "reject", "ada"),),
    steps=(StepTrace("one", "completed", 1.0, 2.5, "because"),),
    prompt=(PromptPart("skill", "mail", 120),),
    notes=(NoteTrace("route_chosen", 0.5, {"model": "a/m", "flags": ["x"]}, "one"),),
    left_out=3,
)  # fmt: skip


def made(run_id: str, *, hours: int = 0, **more: object) -> Trace:
    at = NOON + timedelta(hours=hours)
    return replace(FULL, run_id=run_id, started_at=at, ended_at=at, **more)  # type: ignore[arg-type]


async def put(store: Store, *traces: Trace) -> None:
    await store.traces.add(traces)


async def ids(store: Store, **query: object) -> list[str]:
    return [each.run_id for each in await store.traces.list(**query)]  # type: ignore[arg-type]


async def test_a_trace_is_kept_as_it_is_and_one_of_the_same_run_replaces_it(store: Store):
    await put(store, FULL)
    assert await store.traces.find("r1") == FULL
    assert await store.traces.find("r2") is None
    await put(store, made("r2", hours=1), replace(FULL, status="completed"))
    found = await store.traces.find("r1")
    assert found is not None
    assert found.status == "completed"
    assert await ids(store) == ["r2", "r1"]


async def test_traces_are_listed_by_person_and_session_the_newest_first(store: Store):
    await put(store, made("c", hours=3), made("a", hours=1), made("b", hours=2, principal="bob"))
    await put(store, made("d", hours=4, session_id="t"))
    assert await ids(store) == ["d", "c", "b", "a"]
    assert await ids(store, principal="ada") == ["d", "c", "a"]
    assert await ids(store, session_id="s") == ["c", "b", "a"]
    assert await ids(store, limit=1) == ["d"]


async def test_turns_are_counted_by_day_and_person_and_those_that_wait_are_not(store: Store):
    await put(store, made("a"), made("b", status="completed", working_ms=500), made("c", status="cancelled"))
    await put(store, made("d", hours=24), made("e", principal="bob"), made("f", status="suspended"))
    today = TurnTotal("2026-01-01", "ada", 3, 1, 1, 3500, 1500, 45, 21, 1500, 1500)
    bob = TurnTotal("2026-01-01", "bob", 1, 1, 0, 1500, 1500, 15, 7, 1500, 1500)
    tomorrow = TurnTotal("2026-01-02", "ada", 1, 1, 0, 1500, 1500, 15, 7, 1500, 1500)
    assert list(await store.traces.list_daily(since=NOON)) == [today, bob, tomorrow]
    assert list(await store.traces.list_daily(since=NOON + timedelta(hours=1), principal="ada")) == [tomorrow]


@pytest.mark.parametrize(("turns", "p50", "p95"), [(1, 10, 10), (2, 10, 20), (20, 100, 190), (21, 110, 200)])
async def test_each_day_and_person_has_percentiles_of_the_working_times(
    store: Store, turns: int, p50: int, p95: int
) -> None:
    times = [10 * number for number in range(1, turns + 1)]
    await put(store, *(made(f"a{each}", working_ms=each) for each in (*times[::2], *times[1::2])))
    await put(store, *(made(f"b{each}", principal="bob", working_ms=9 * each) for each in times))
    await put(store, made("waiting", status="suspended", working_ms=10_000), made("old", hours=-24, working_ms=1))
    found = await store.traces.list_daily(since=NOON)
    assert [(each.principal, each.p50_working_ms, each.p95_working_ms) for each in found] == [
        ("ada", p50, p95),
        ("bob", 9 * p50, 9 * p95),
    ]


async def test_old_traces_are_deleted(store: Store):
    await put(store, *(made(f"r{hours}", hours=hours) for hours in range(4)))
    assert await store.traces.expire(NOON + timedelta(hours=2)) == 2
    assert await ids(store) == ["r3", "r2"]


async def test_traces_are_deleted_with_their_session(store: Store):
    await store.sessions.append("s", [SessionRecord("message", "r1", Message("user", "hello"))], owner="ada")
    await put(store, FULL, made("r2", session_id="other"))
    await store.sessions.delete("s")
    assert await ids(store) == ["r2"]


async def test_forgetting_a_person_deletes_their_traces(store: Store):
    await put(store, FULL, made("r2", principal="bob"))
    assert (await store.persons.forget("ada", Period("2026-01-01", "2026-01")))["traces"] == 1
    assert await ids(store) == ["r2"]
