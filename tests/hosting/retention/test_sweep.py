"""The retention sweep: what a host deletes, what it keeps, when, and what an unavailable store means for it."""

import asyncio
import os
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest

from sophon.approvals import ApprovalRequest, Decision
from sophon.learning.trajectories import Trajectory
from sophon.learning.vectors import to_blob
from sophon.messages import Message, ToolCall, Usage
from sophon.settings import Settings
from sophon.snapshots.archive import ORPHAN_SECONDS, SnapshotArchive
from sophon.stores import Period, UsageRow
from sophon.stores.audit.audit_event import AuditEvent
from sophon.stores.rate_windows.contract import RateEvent
from sophon.stores.sessions.contract import SessionRecord
from sophon.stores.snapshots.stored_snapshot import SnapshotEvent
from sophon.stores.trajectories.trajectory_write import TrajectoryWrite
from sophon.stores.vectors.contract import POLICIES, TRAJECTORIES, VectorRow
from sophon.testing import VirtualClock
from sophon.tools.tool import Risk
from sophon_channels.outbound_entry import OutboundEntry
from sophon_hosting.retention import FIRST_SWEEP_SECONDS, INTERNAL_DAYS, SWEEP_INTERVAL_SECONDS, RetentionSweep
from sophon_hosting.store.events.logged_event import LoggedEvent
from sophon_hosting.store.runs.contract import InboundKey, Run, RunOutcome
from sophon_hosting.store.sql_host_store import SqlHostStore
from tests.databases import SQLITE, copy_database
from tests.refusing_writes import allow_writes, notice, refuse_writes

DAY_SECONDS = 86_400
INTERNAL = ("sent_entries", "inbound_keys", "journal_entries", "approvals")


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock(auto=False)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    copy_database(tmp_path)
    return tmp_path


@pytest.fixture
async def store(folder: Path, clock: VirtualClock) -> AsyncIterator[SqlHostStore]:
    store = SqlHostStore(SQLITE, folder=folder, clock=clock)
    await store.open()
    yield store
    allow_writes(store)
    await store.close()


async def fill(store: SqlHostStore, clock: VirtualClock) -> None:
    """One of everything that ages, in a session with one message."""
    await store.sessions.append("s", [SessionRecord("message", "r", Message("user", "hello"))], owner="ada")
    await store.runs.accept(Run("r", "s", "ada"), InboundKey("telegram", "bot", "1"))
    await store.runs.begin("r", clock.now())
    await store.journal.start("r", "c", "pay")
    question = ApprovalRequest.from_call(ToolCall("c", "pay", {}), "r", Risk.HIGH, session_id="s")
    await store.approvals.get_or_create(question, clock.now())
    await store.approvals.decide(question.id, Decision.approve(), clock.now())
    sent = OutboundEntry("e", "r", "telegram", "bot", "7", "text")
    await store.runs.finish("r", RunOutcome("completed", {"text": "hello"}), outbound=[sent])
    await store.journal.start("r", "late", "pay")  # a turn deletes its journal at its end, unless it is killed then
    await store.outbox.mark_sending("e")
    await store.outbox.mark_sent("e", "9")
    await store.events.append("s", [LoggedEvent("task_completed", {}, "r")])
    today = Period(clock.now().date().isoformat(), f"{clock.now():%Y-%m}")
    await store.usage.settle(None, UsageRow("p", "m", "reply", "s", "r", Usage(3, 4, 5), today, clock.now()))


def sweep(store: SqlHostStore, clock: VirtualClock, **days: int) -> RetentionSweep:
    settings = Settings.from_mapping({"Retention": days})
    return RetentionSweep(store, clock, settings, Path("no-such-folder"))


async def test_without_limits_only_what_the_host_keeps_for_itself_is_deleted(store, clock) -> None:
    await fill(store, clock)
    await clock.advance((INTERNAL_DAYS + 1) * DAY_SECONDS)
    deleted = await sweep(store, clock).sweep()
    assert {name: deleted[name] for name in INTERNAL} == dict.fromkeys(INTERNAL, 1)
    assert not {"events", "runs", "usage"} & deleted.keys()
    assert [event.name for event in await store.events.list_after("s", 0)] == ["task_completed"]
    assert (await store.runs.get("r")).status == "completed"
    assert [total.calls for total in await store.usage.list_totals()] == [1]


async def test_the_audit_log_is_kept_for_thirty_days_by_default(store, clock) -> None:
    await store.audit.append([AuditEvent(clock.now(), "executed", "s")])
    await clock.advance(29 * DAY_SECONDS)
    assert (await sweep(store, clock).sweep())["audit_entries"] == 0
    await clock.advance(2 * DAY_SECONDS)
    assert (await sweep(store, clock).sweep())["audit_entries"] == 1
    assert (await store.audit.verify()).broken is None


async def test_nothing_is_deleted_before_its_time(store, clock) -> None:
    await fill(store, clock)
    await clock.advance(INTERNAL_DAYS * DAY_SECONDS - 1)
    limits = {"Events": INTERNAL_DAYS, "Runs": INTERNAL_DAYS, "Usage": INTERNAL_DAYS}
    deleted = await sweep(store, clock, **limits).sweep()
    assert {name: count for name, count in deleted.items() if count and name != "reclaimed_bytes"} == {}


@pytest.mark.parametrize(("setting", "kind"), [("Events", "events"), ("Runs", "runs"), ("Usage", "usage")])
async def test_each_setting_deletes_its_kind_only_and_sessions_stay(store, clock, setting: str, kind: str) -> None:
    await fill(store, clock)
    await clock.advance(31 * DAY_SECONDS)
    deleted = await sweep(store, clock, **{setting: 30}).sweep()
    assert deleted[kind] == 1
    assert {"events", "runs", "usage"} & deleted.keys() == {kind}
    assert [message.content for message in (await store.sessions.load_history("s")).messages] == ["hello"]


async def test_the_sweep_waits_for_an_unavailable_store_and_goes_on_every_hour(store, clock) -> None:
    await fill(store, clock)
    done: list[dict[str, int]] = []
    work = sweep(store, clock)
    original = work.sweep

    async def noted() -> dict[str, int]:
        done.append(await original())
        return done[-1]

    work.sweep = noted  # type: ignore[method-assign]
    running = asyncio.create_task(work.run_forever())
    await refuse_writes(store)
    await notice(store)
    await clock.advance(FIRST_SWEEP_SECONDS + 2 * SWEEP_INTERVAL_SECONDS)
    assert done == []
    allow_writes(store)
    await store.maintenance.probe()
    async with asyncio.timeout(30):
        while len(done) < 2:
            await clock.advance(SWEEP_INTERVAL_SECONDS / 10)
    assert not running.done()
    running.cancel()


async def test_an_error_of_one_sweep_does_not_end_the_loop(store, clock) -> None:
    work, calls = sweep(store, clock), []
    original = work.sweep

    async def fail_first() -> dict[str, int]:
        calls.append(clock.now())
        if len(calls) == 1:
            raise RuntimeError("nobody foresaw this")
        return await original()

    work.sweep = fail_first  # type: ignore[method-assign]
    running = asyncio.create_task(work.run_forever())
    async with asyncio.timeout(30):
        while len(calls) < 2:
            await clock.advance(SWEEP_INTERVAL_SECONDS / 10)
    assert calls[1] - calls[0] >= timedelta(seconds=SWEEP_INTERVAL_SECONDS)
    running.cancel()


async def test_old_snapshots_go_with_their_copies_and_so_do_copies_that_a_kill_has_left(
    store: SqlHostStore, clock: VirtualClock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = SnapshotArchive(tmp_path)
    (tmp_path / "a").write_text("A")
    for number in range(3):
        files = archive.take(tmp_path, f"id{number}", ["a"], 100)
        await store.snapshots.add(
            [SnapshotEvent(f"id{number}", "local", clock.now(), "s", "r", "c", "files.write", files)]
        )
    archive.take(tmp_path, "killed", ["a"], 100)
    old = clock.now().timestamp() - ORPHAN_SECONDS - 1
    for copy in archive.folder.iterdir():
        os.utime(copy, (old, old))
    archive.take(tmp_path, "running", ["a"], 100)  # its entry is about to be stored
    os.utime(archive.folder / "running.0", (old + 2, old + 2))
    monkeypatch.setattr("sophon_hosting.features.snapshots.retention.KEPT_SNAPSHOTS", 2)
    settings = Settings()
    deleted = await RetentionSweep(store, clock, settings, tmp_path).sweep()
    assert (deleted["snapshots"], deleted["unused_copies"]) == (1, 2)
    assert sorted(each.name for each in archive.folder.iterdir()) == ["id1.0", "id2.0", "running.0"]
    assert (await store.snapshots.verify("local")).broken is None
    await clock.advance(31 * DAY_SECONDS)
    assert (await RetentionSweep(store, clock, settings, tmp_path).sweep())["snapshots"] == 2


async def test_times_of_rate_limits_go_once_no_window_needs_them(store: SqlHostStore, clock: VirtualClock) -> None:
    await store.rate_windows.add([RateEvent("a", clock.now()), RateEvent("shield.evaluations", clock.now())])
    await clock.advance(25 * 3600)  # the longest day, whether the chain of the host evaluates or not
    assert (await sweep(store, clock).sweep())["rate_events"] == 0
    await clock.advance(1)
    assert (await sweep(store, clock).sweep())["rate_events"] == 2


async def test_what_was_learnt_ages_and_has_bounds(store, clock, monkeypatch) -> None:
    def made(name: str) -> TrajectoryWrite:
        return TrajectoryWrite(Trajectory(name, "s", "ada", clock.now(), "hi", "ho"), 100)

    async def learn(name: str) -> None:
        await store.trajectories.add([made(name)])
        rows = [VectorRow(each, name, "e", 1, to_blob([1.0]), {}, clock.now()) for each in (POLICIES, TRAJECTORIES)]
        await store.vectors.put(rows)

    monkeypatch.setattr("sophon.learning.trajectories.MAX_KEPT", 2)
    settings = Settings.from_mapping({"Learning": {"Days": 50}})
    for name in "abc":
        await learn(name)
        await clock.advance(20 * DAY_SECONDS)
    deleted = await RetentionSweep(store, clock, settings, Path("no-such-folder")).sweep()
    assert {name: deleted[name] for name in ("trajectories", "routing_policies", "vectors")} == {
        "trajectories": 1,
        "routing_policies": 2,
        "vectors": 1,
    }
    assert [each.run_id for each in await store.trajectories.list()] == ["c", "b"]
