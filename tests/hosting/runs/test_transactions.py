"""What a turn stores, and in how many transactions: what tells of a write is in the transaction of that write."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, cast

import pytest
from sqlalchemy import Connection, Engine, event

from sophon import Context, ModelRequest, ModelResponse, Pipeline, Risk, Services, Tool, ToolCall, tool
from sophon.chain.pipeline import Next
from sophon.errors import StoreError, StoreUnavailable
from sophon.events import LoopWarning, ModelAttempt
from sophon.learning.contract import ScoredTurn
from sophon.learning.embedding_cache import CachingEmbedder
from sophon.learning.fitness import Fitness
from sophon.learning.hashing_embedder import HashingEmbedder
from sophon.routing.context_keys import ROUTE
from sophon.routing.route_record import RouteRecord
from sophon.snapshots.archive import SnapshotArchive
from sophon.stores.audit.audit_event import AuditEvent
from sophon.stores.contract import Store
from sophon.stores.unit_of_work import UnitOfWork, WriteKind
from sophon.stores.vectors.contract import POLICIES
from sophon.stores.vectors.stored_policies import create_policy_cache
from sophon.testing import EventRecorder, FunctionModel, VirtualClock
from sophon_hosting.events import sequencer
from sophon_hosting.events.event_bus import EventBus
from sophon_hosting.host import Host, RunRequest
from sophon_hosting.runs.active_runs import ActiveRun
from sophon_hosting.runs.turn_store import TurnStore
from sophon_hosting.store.approvals.approval_record import ApprovalRecord
from sophon_hosting.store.events.logged_event import LoggedEvent
from sophon_hosting.store.factory import host_store_from_url
from sophon_hosting.store.runs.contract import Run
from sophon_middlewares.chains import clawft, twelve
from sophon_middlewares.chains.additions import find_guards
from sophon_middlewares.learning.learning import Learning
from sophon_middlewares.learning.scoring import Scoring
from tests import postgres
from tests.databases import SQLITE, copy_database

ROUNDS = 3


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=postgres.needs_postgres)])
def store_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        copy_database(tmp_path)
        return SQLITE
    postgres.without_rows()
    return postgres.MIGRATED


@pytest.fixture
async def store(store_url: str, tmp_path: Path, clock: VirtualClock) -> AsyncIterator[Store]:
    store = host_store_from_url(store_url, folder=tmp_path, clock=clock)
    await store.open()
    yield store
    await store.close()


class Commits:
    """Counts the commits of all engines."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, connection: Connection) -> None:
        self.count += 1


@pytest.fixture
def commits() -> Iterator[Commits]:
    commits = Commits()
    event.listen(Engine, "commit", commits)
    yield commits
    event.remove(Engine, "commit", commits)


@pytest.fixture(autouse=True)
def unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is written behind while a turn runs, however slow the machine is."""
    monkeypatch.setattr(sequencer, "WRITE_BEHIND_SECONDS", 60.0)
    monkeypatch.setattr(sequencer, "TRACE_SECONDS", 60.0)


async def see_nothing(what: str) -> None:
    """Do nothing while the tool runs."""


@dataclass
class Looking:
    """The tool `look`, which does what a test says."""

    act: Callable[[str], Awaitable[None]] = see_nothing

    def tool(self) -> Tool:
        @tool()
        async def look(what: str) -> str:
            """Look at something."""
            await self.act(what)
            return f"{what} is there"

        return look


@pytest.fixture
def looking() -> Looking:
    return Looking()


async def answer(request: ModelRequest) -> str | ModelResponse:
    """`look N` calls that many tools in each of `ROUNDS` rounds, `guess N` a tool that does not exist."""
    said, count = next(each for each in reversed(request.messages) if each.role == "user").content.split()
    rounds = sum(bool(each.tool_calls) for each in request.messages)
    if said not in ("look", "guess") or rounds == ROUNDS:
        return "done"
    return ModelResponse(
        "", [ToolCall(f"c{rounds}-{number}", said, {"what": f"{rounds}-{number}"}) for number in range(int(count))]
    )


@pytest.fixture
async def busy(store: Store, clock: VirtualClock, looking: Looking) -> AsyncIterator[Host]:
    services = Services(
        models=FunctionModel(answer),
        tools=[looking.tool()],
        store=store,
        clock=clock,
        events=EventRecorder(),
        settings={"AgentExecution": {"MaxConcurrentTasks": 8}},
    )
    host = Host(services, twelve(services, find_guards(services.settings.guards)))
    await host.start()
    yield host
    await host.shutdown(grace_seconds=0)


def taken(unit: UnitOfWork, kind: WriteKind, name: str) -> list[Any]:
    """What the writes of a kind store: the value of this parameter of each."""
    return [cast("partial[object]", write.apply).keywords[name] for write in unit.writes if write.kind is kind]


async def run(host: Host, text: str, session_id: str = "s", **options: Any) -> Run:
    """Run a turn until its last event is published."""
    over = asyncio.Event()

    def hear(frame) -> None:
        if frame.name in ("task_completed", "task_failed"):
            over.set()

    await host.event_bus.subscribe(session_id, hear)
    receipt = await host.accept(RunRequest(text, session_id, "ada", **options))
    async with asyncio.timeout(30):
        await over.wait()
    host.event_bus.unsubscribe(session_id, hear)
    return await host.services.store.runs.get(receipt.task_id)


async def test_a_plain_turn_commits_three_times(busy: Host, commits: Commits) -> None:
    assert (await run(busy, "hello 0")).status == "completed"
    assert commits.count == 3


async def test_the_way_out_of_an_answer_needs_no_transaction_of_its_own(
    busy: Host, commits: Commits, store: Store
) -> None:
    done = await run(busy, "hello 0", channel="telegram", origin={"chat": "42", "account": "bot"})
    assert commits.count == 3
    assert [each.chat for each in await store.outbox.list(run_id=done.id)] == ["42"]


async def test_a_turn_changes_few_pages(busy: Host, tmp_path: Path, store_url: str) -> None:
    if store_url != SQLITE:
        pytest.skip("the log of a server is not ours")
    file = tmp_path / "data" / "sophon.db"

    async def kilobytes_of(text: str) -> float:
        """Size of the log per turn; a page now and then is full, so several turns count."""
        with closing(sqlite3.connect(file)) as database:
            database.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        for number in range(4):
            await run(busy, text, f"{text} {number}")
        return file.with_name("sophon.db-wal").stat().st_size / 4 / 1024

    plain = await kilobytes_of("hello 0")
    assert plain < 55
    assert (await kilobytes_of("look 1") - plain) / ROUNDS < 45  # with the entries of the audit log


async def test_a_turn_that_is_learnt_from_commits_no_more(
    store: Store, clock: VirtualClock, looking: Looking, commits: Commits
) -> None:
    embedder = CachingEmbedder(HashingEmbedder(16))
    services = Services(
        models=FunctionModel(answer),
        tools=[looking.tool()],
        store=store,
        clock=clock,
        events=EventRecorder(),
        settings={"Learning": {"Enabled": True}},
        embedder=embedder,
        policies=create_policy_cache(store.vectors, embedder, clock),
    )

    async def choose_tier(ctx: Context, next: Next, /) -> None:
        ctx.put(ROUTE, RouteRecord("Intelligent", "a/large", tier="premium"))
        await next(ctx)

    class Praise:
        def score(self, turn: ScoredTurn) -> Fitness:
            return Fitness(1, 1, 1, 1, 1)

    learning = list(twelve(services, {"Learning": Learning(), "Scoring": Scoring()}))
    host = Host(services, Pipeline.compose(*learning[:2], Scoring(scorer=Praise()), choose_tier, *learning[3:]))
    await host.start()
    done = await run(host, "hello 0")
    assert commits.count == 3
    await host.shutdown(grace_seconds=0)
    assert [each.run_id for each in await store.trajectories.list()] == [done.id]
    assert await store.vectors.count(POLICIES) == 1


async def test_a_turn_of_clawft_commits_as_often_as_one_of_the_twelve(
    store: Store, clock: VirtualClock, looking: Looking, commits: Commits
) -> None:
    services = Services(
        models=FunctionModel(answer), tools=[looking.tool()], store=store, clock=clock, events=EventRecorder()
    )
    host = Host(services, clawft(services))
    await host.start()
    done = [await run(host, "hello 0")]
    assert commits.count == 3
    done.append(await run(host, "look 2"))
    assert commits.count <= 6 + 2 * ROUNDS
    await host.shutdown(grace_seconds=0)
    assert [each.run_id for each in await store.trajectories.list()] == [each.id for each in reversed(done)]
    assert {each.task_type for each in await store.route_averages.list_all()} == {"chat"}


@pytest.mark.parametrize("calls", [1, 4])
async def test_a_tool_round_commits_twice_however_many_calls_it_has(busy: Host, commits: Commits, calls: int) -> None:
    run_ = await run(busy, f"look {calls}")
    assert run_.status == "completed"
    assert commits.count <= 3 + 2 * ROUNDS
    assert len(await busy.services.store.audit.list_after(0)) == 2 * ROUNDS * calls  # at the same cost
    counted = await busy.services.store.rate_windows.load("calls", datetime(2000, 1, 1, tzinfo=UTC), 1000)
    assert len(counted) == ROUNDS * calls


async def test_what_a_turn_stores_in_so_few_commits_is_all_that_it_has_told(busy: Host, store: Store) -> None:
    done = await run(busy, "look 2")
    logged = [(each.seq, each.name) for each in await store.events.list_after("s", 0)]
    names = [name for _, name in logged]
    assert [seq for seq, _ in logged] == list(range(1, len(logged) + 1))
    assert names[:3] == ["task_queued", "task_started", "message"]
    assert names[-2:] == ["message", "task_completed"]
    assert names.count("tool_call_started") == names.count("tool_call_completed") == 2 * ROUNDS
    assert "model_attempt" not in names
    traces = await store.events.list_traces("s", done.id)
    assert [each.name for each in traces] == ["tools_offered", *["model_attempt"] * (ROUNDS + 1)]
    assert {each.data["outcome"] for each in traces[1:]} == {"ok"}
    assert sum(total.calls for total in await store.usage.list_totals(session_id="s")) == ROUNDS + 1
    assert await store.journal.load_entries(done.id) == {}


@tool(risk=Risk.HIGH)
async def pay() -> str:
    """Pay."""
    return "paid"


@pytest.mark.parametrize("how", ["answers late", "is away for a moment"])
async def test_who_answers_a_question_at_once_is_not_told_that_it_does_not_exist(
    store: Store, clock: VirtualClock, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    find, record, refused = store.approvals.find, store.runs.record, asyncio.Event()

    async def find_late(approval_id: str) -> ApprovalRecord | None:
        await host.event_bus.flush("s")  # the time for which events wait ends meanwhile
        return await find(approval_id)

    async def refuse_once(session_id: str, unit: UnitOfWork, events: Sequence[LoggedEvent]) -> int:
        if taken(unit, WriteKind.APPROVAL, "request"):
            monkeypatch.setattr(store.runs, "record", record)
            refused.set()
            raise StoreUnavailable("test://", "connection", "away")
        return await record(session_id, unit, events)

    if how == "answers late":
        monkeypatch.setattr(store.approvals, "find", find_late)
    else:
        monkeypatch.setattr(store.runs, "record", refuse_once)

    async def ask(request: ModelRequest) -> str | ModelResponse:
        return "done" if request.messages[-1].role == "tool" else ModelResponse("", [ToolCall("c", "pay")])

    services = Services(models=FunctionModel(ask), tools=[pay], store=store, clock=clock, events=EventRecorder())
    host = Host(services, twelve(services))
    found: asyncio.Future[bool] = asyncio.get_running_loop().create_future()

    async def look_up(approval_id: str) -> None:
        found.set_result(await find(approval_id) is not None)

    tasks: list[asyncio.Task[None]] = []

    def hear(frame) -> None:
        if frame.name == "approval_requested":
            tasks.append(asyncio.create_task(look_up(frame.data["approval_id"])))

    await host.start()
    await host.event_bus.subscribe("s", hear)
    await host.accept(RunRequest("pay", "s", "ada"))
    async with asyncio.timeout(30):
        if how == "is away for a moment":
            await refused.wait()
            await host.event_bus.flush("s")
        assert await found
    await host.shutdown(grace_seconds=0)


async def test_messages_for_other_sessions_that_come_together_share_commits(busy: Host, commits: Commits) -> None:
    finished = await asyncio.gather(*(run(busy, "hello 0", f"s{number}") for number in range(8)))
    assert {each.status for each in finished} == {"completed"}
    # Alone they would be 24. What waits while a commit runs is in the next one.
    assert commits.count <= 16


async def test_a_call_starts_only_when_its_checkpoint_is_stored(busy: Host, store: Store, looking: Looking) -> None:
    seen: list[tuple[bool, list[str], list[str]]] = []

    async def look_at_the_store(what: str) -> None:
        [active] = await store.runs.list_unfinished()
        entries = await store.journal.load_entries(active.id)
        logged = [each.name for each in await store.events.list_after("s", 0)]
        seen.append((active.checkpoint is not None, list(entries), logged[-1:]))

    looking.act = look_at_the_store
    await run(busy, "look 1")
    assert seen[0] == (True, ["c0-0"], ["tool_call_started"])


async def test_a_call_starts_only_when_its_audit_entry_is_stored(busy: Host, store: Store, looking: Looking) -> None:
    seen: list[list[tuple[str, str]]] = []

    async def look_at_the_log(what: str) -> None:
        entries = await store.audit.list_after(0)
        seen.append([(each.fields["event"], each.fields["call_id"]) for each in entries])

    looking.act = look_at_the_log
    await run(busy, "look 1")
    assert seen[0] == [("proposed", "c0-0")]


async def test_the_audit_entry_of_an_outcome_is_stored_with_the_result(
    busy: Host, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = store.runs.record
    together: list[tuple[list[str], list[str]]] = []

    async def note(session_id, unit, logged):
        results = [entry.call_id for entry in taken(unit, WriteKind.CALL, "entry") if entry.result is not None]
        entries = [event for events in taken(unit, WriteKind.AUDIT, "events") for event in events]
        together.append((results, [each.call_id for each in entries if each.event == "executed"]))
        return await record(session_id, unit, logged)

    monkeypatch.setattr(store.runs, "record", note)
    await run(busy, "look 2")
    assert sum(len(results) for results, _ in together) == 2 * ROUNDS
    assert all(results == executed for results, executed in together)


async def test_a_call_does_not_start_if_its_audit_entry_is_refused(
    busy: Host, store: Store, looking: Looking, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = store.runs.record
    called: list[str] = []

    async def refuse_entries(session_id, unit, events):
        if taken(unit, WriteKind.AUDIT, "events"):
            raise StoreError("store", "an entry was refused")
        return await record(session_id, unit, events)

    async def note(what: str) -> None:
        called.append(what)

    monkeypatch.setattr(store.runs, "record", refuse_entries)
    looking.act = note
    failed = await run(busy, "look 1")
    assert (failed.status, called) == ("failed", [])


async def test_a_call_does_not_start_if_an_earlier_transaction_has_lost_its_audit_entry(
    store: Store, clock: VirtualClock
) -> None:
    await store.sessions.get_or_create("s", "ada")
    bus = EventBus(store.events, store.runs, clock)
    turn = TurnStore(ActiveRun("r"), "s", bus, store, VirtualClock())
    await turn.audit.append([AuditEvent(datetime(2026, 1, 1), "proposed", "s")])
    with pytest.raises(ValueError, match="time zone"):
        await bus.flush("s")
    with pytest.raises(ValueError, match="time zone"):
        await turn.journal.start("r", "c1", "look")
    with pytest.raises(ValueError, match="time zone"):
        await turn.audit.append([AuditEvent(clock.now(), "proposed", "s")])
    await bus.aclose()


async def test_an_entry_has_the_chat_of_its_run(busy: Host, store: Store) -> None:
    over = asyncio.Event()
    await busy.event_bus.subscribe("s", lambda frame: over.set() if frame.name == "task_completed" else None)
    await busy.accept(RunRequest("look 1", "s", "ada", origin={"chat": "-100"}))
    async with asyncio.timeout(30):
        await over.wait()
    assert {each.fields["chat"] for each in await store.audit.list_after(0)} == {"-100"}


async def test_a_call_does_not_start_if_its_checkpoint_is_refused(
    busy: Host, store: Store, looking: Looking, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = store.runs.record
    called: list[str] = []

    async def refuse_checkpoints(session_id, unit, events):
        if taken(unit, WriteKind.CHECKPOINT, "state"):
            raise StoreError("store", "a checkpoint was refused")
        return await record(session_id, unit, events)

    async def note(what: str) -> None:
        called.append(what)

    monkeypatch.setattr(store.runs, "record", refuse_checkpoints)
    looking.act = note
    failed = await run(busy, "look 1")
    assert (failed.status, called) == ("failed", [])


async def test_the_outcome_is_stored_although_a_staged_checkpoint_is_refused(
    busy: Host, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    finish, staged_runs = store.runs.finish, list[str]()
    stage = sequencer.SessionSequencer.stage

    async def refuse_checkpoints(run_id, outcome, *, unit, **more):
        if taken(unit, WriteKind.CHECKPOINT, "state"):
            raise StoreError("store", "a checkpoint was refused")
        return await finish(run_id, outcome, unit=unit, **more)

    def note(session, write, on_settled=None, **more):
        if write.kind is WriteKind.CHECKPOINT:
            staged_runs.append(write.run_id)
        return stage(session, write, on_settled, **more)

    monkeypatch.setattr(store.runs, "finish", refuse_checkpoints)
    monkeypatch.setattr(sequencer.SessionSequencer, "stage", note)
    ended = await run(busy, "guess 1")
    assert (ended.status, ended.starts, staged_runs) == ("completed", 1, [ended.id] * ROUNDS)
    assert await store.runs.load_logs(ended.id) == {}


async def test_an_event_that_no_transaction_takes_is_stored_behind(
    store: Store, clock: VirtualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sequencer, "WRITE_BEHIND_SECONDS", 0.0)
    monkeypatch.setattr(sequencer, "TRACE_SECONDS", 0.0)
    await store.sessions.get_or_create("s", "ada")
    heard: asyncio.Queue[int | None] = asyncio.Queue()
    bus = EventBus(store.events, store.runs, clock)
    await bus.subscribe("s", lambda frame: heard.put_nowait(frame.seq))
    attempt = ModelAttempt(session_id="s", task_id="t", purpose="reply", model="m", outcome="ok", duration_ms=1)
    bus.emit(attempt)
    bus.emit(LoopWarning(session_id="s", task_id="t", level="warning", pattern="p", tool="look", count=3))
    async with asyncio.timeout(30):
        assert [await heard.get(), await heard.get()] == [None, 1]
    await bus.flush("s")
    assert [each.name for each in await store.events.list_after("s", 0)] == ["loop_warning"]
    assert [each.name for each in await store.events.list_traces("s", "t")] == ["model_attempt"]
    await bus.aclose()


@pytest.fixture
async def writing(store: Store, clock: VirtualClock, tmp_path: Path) -> AsyncIterator[Host]:
    """A host whose model writes a file in each of `ROUNDS` rounds, as an approved call."""

    async def write(request: ModelRequest) -> str | ModelResponse:
        rounds = sum(bool(each.tool_calls) for each in request.messages)
        arguments = {"path": "notes.txt", "content": f"round {rounds}"}
        return "done" if rounds == ROUNDS else ModelResponse("", [ToolCall(f"c{rounds}", "files.write", arguments)])

    services = Services(
        models=FunctionModel(write),
        store=store,
        clock=clock,
        events=EventRecorder(),
        folder=tmp_path,
        settings={"Approval": {"AutoApproveUpTo": "High"}, "Planning": {"Mode": "Never"}},
    )
    host = Host(services, twelve(services, find_guards(services.settings.guards)))
    await host.start()
    yield host
    await host.shutdown(grace_seconds=0)


async def test_a_round_with_a_snapshot_commits_no_more(writing: Host, commits: Commits, store: Store) -> None:
    run_ = await run(writing, "write it")
    assert run_.status == "completed"
    assert commits.count <= 3 + 2 * ROUNDS
    kept = await store.snapshots.list("ada")
    assert [[file.existed for file in each.event.files] for each in reversed(kept)] == [[False], [True], [True]]


async def test_the_metadata_of_a_snapshot_is_stored_before_the_call_runs(
    writing: Host, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A kill at any moment leaves a copy without an entry, or an entry with its copy and the file as it was."""
    record = store.runs.record
    notes, archive = tmp_path / "data/files/principals/ada/notes.txt", SnapshotArchive(tmp_path)
    seen: list[tuple[str, list[bytes | None]]] = []

    async def note(session_id, unit, events):
        stored = await record(session_id, unit, events)
        for (snapshot,) in taken(unit, WriteKind.SNAPSHOT, "events"):
            begun = [entry.call_id for entry in taken(unit, WriteKind.CALL, "entry") if entry.result is None]
            assert begun == [snapshot.call_id]
            copies = [archive.read(file) if file.existed else None for file in snapshot.files]
            text = notes.read_text() if notes.exists() else ""
            seen.append((text, [each.data if each else None for each in copies]))
        return stored

    monkeypatch.setattr(store.runs, "record", note)
    await run(writing, "write it")
    assert seen == [("", [None]), ("round 0", [b"round 0"]), ("round 1", [b"round 1"])]


async def test_a_file_is_not_written_if_the_metadata_of_its_snapshot_is_refused(
    writing: Host, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = store.runs.record

    async def refuse_snapshots(session_id, unit, events):
        if taken(unit, WriteKind.SNAPSHOT, "events"):
            raise StoreError("store", "a snapshot was refused")
        return await record(session_id, unit, events)

    monkeypatch.setattr(store.runs, "record", refuse_snapshots)
    assert (await run(writing, "write it")).status == "failed"
    assert not list(tmp_path.rglob("notes.txt"))
