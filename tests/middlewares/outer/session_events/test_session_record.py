"""One outcome on record for every turn, whatever ends it and whatever the store does meanwhile."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest

from sophon import (
    Context,
    Message,
    ModelRequest,
    ModelResponse,
    Next,
    Pipeline,
    Response,
    Risk,
    Services,
    ToolCall,
    ToolResult,
    tool,
)
from sophon.errors import ModelError, StoreError
from sophon.events import Event, StreamChunk, TaskCancelled, TaskCompleted, TaskFailed
from sophon.events import Message as MessageAdded
from sophon.messages import Compaction
from sophon.stores.contract import Store
from sophon.stores.factory import store_from_url
from sophon.stores.in_memory_store import InMemoryStore
from sophon.stores.sessions.contract import History, SessionRecord
from sophon.stores.sessions.in_memory import InMemorySessionStore
from sophon.stores.tool_call_journal.in_memory import InMemoryJournal
from sophon.testing import EventRecorder, FunctionModel, ScriptedModel, VirtualClock, assert_valid_transcript
from sophon.tools.untrusted_text import fence_text
from sophon.turn.provenance import SOURCES_FIELD
from sophon_middlewares import AgenticLoop, Approval, LlmInvoker, ParallelExecution, SessionEvents, ToolExecution
from sophon_middlewares.outer.session_events.session_events import (
    NOT_RUN_RESULT,
    collect_new_records,
    find_unfinished_calls,
)
from sophon_middlewares.outer.session_events.turn_start import VALIDATED_PREFIX
from tests.gate import Gate
from tests.tables import table

INNER = (AgenticLoop(), ParallelExecution(), Approval(), ToolExecution(), LlmInvoker())
CHAIN = Pipeline.compose(SessionEvents(), *INNER)
TERMINAL = (TaskCompleted, TaskFailed, TaskCancelled)


@tool
async def noop() -> str:
    """Nothing."""
    return "ok"


@pytest.fixture(params=["memory", "sqlite:///talk.db"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    url, clock = request.param, VirtualClock(auto=False)
    store = InMemoryStore(clock=clock) if url == "memory" else store_from_url(url, folder=tmp_path, clock=clock)
    await store.open()
    yield store
    await store.close()


class Sessions(InMemorySessionStore):
    """Conversations whose store can be slow, or broken, at one of its doors."""

    def __init__(self) -> None:
        super().__init__(VirtualClock(auto=False))
        self.broken: set[str] = set()
        self.slow: set[str] = set()
        self.reached = asyncio.Event()

    async def load_history(self, session_id: str) -> History:
        await self._door("history")
        return await super().load_history(session_id)

    async def append(self, session_id: str, records: Sequence[SessionRecord], *, owner: str = "") -> int:
        kind = records[-1].kind
        if kind in self.broken:
            raise StoreError("test://", "disk full")
        seq = await super().append(session_id, records, owner=owner)
        await self._door(kind)  # done even if the caller is cancelled while it waits
        return seq

    async def _door(self, name: str) -> None:
        if name in self.broken:
            raise StoreError("test://", "disk full")
        if name in self.slow:
            self.slow.clear()
            self.reached.set()
            await asyncio.get_running_loop().create_future()


def stored_in(sessions: Sessions, **parts: Any) -> Services:
    store = InMemoryStore()
    store.sessions = sessions
    return Services(store=store, tools=[noop], clock=VirtualClock(), **parts)


async def log(services: Services) -> list[tuple[str, str]]:
    """Kind of every record, for a message its role and text."""
    records = await services.store.sessions.list_records("s")
    return [(r.message.role, r.message.content) if r.message else (r.kind, "") for r in records]


def endings(events: EventRecorder) -> list[type[Event]]:
    return [type(event) for event in events.events if isinstance(event, TERMINAL)]


@pytest.mark.parametrize("door", ["history", "message"])
@pytest.mark.parametrize("how", ["scope", "task"])
async def test_a_turn_that_is_cancelled_while_it_begins_is_recorded_whole_and_once(
    door: str, how: str, events: EventRecorder
) -> None:
    sessions = Sessions()
    sessions.slow.add(door)
    services, scope = stored_in(sessions, events=events), anyio.CancelScope()

    async def turn() -> None:
        with scope:
            await CHAIN.run(services.turn("go", session_id="s"))

    task = asyncio.ensure_future(turn())
    await sessions.reached.wait()
    if how == "scope":
        scope.cancel()
    else:
        task.cancel()
    await asyncio.wait([task])

    assert task.cancelled() == (how == "task")
    assert await log(services) == [("user", "go"), ("cancelled", "")]
    assert [type(event) for event in events.events] == [TaskCancelled]


async def test_a_turn_that_is_cancelled_while_its_answer_is_written_repeats_nothing(events: EventRecorder) -> None:
    sessions = Sessions()

    async def answer(ctx: Context, next: Next) -> None:
        sessions.slow.add("message")
        ctx.response = Response("done")

    services = stored_in(sessions, events=events)
    turn = Pipeline.compose(SessionEvents(), answer).run(services.turn("go", session_id="s"))
    task = asyncio.ensure_future(turn)
    await sessions.reached.wait()
    task.cancel()
    await asyncio.wait([task])

    assert await log(services) == [("user", "go"), ("assistant", "done"), ("cancelled", "")]
    assert endings(events) == [TaskCancelled]


async def test_a_store_that_cannot_be_read_fails_the_turn_as_itself(events: EventRecorder) -> None:
    sessions = Sessions()
    sessions.broken.add("history")
    services = stored_in(sessions, events=events)

    with pytest.raises(StoreError):
        await CHAIN.run(services.turn("go", session_id="s"))

    assert endings(events) == [TaskFailed]
    assert await log(services) == [("user", "go"), ("failed", "")]


async def test_a_store_that_takes_nothing_still_leaves_one_outcome(events: EventRecorder) -> None:
    sessions = Sessions()
    sessions.broken |= {"message", "failed"}
    services = stored_in(sessions, events=events)

    with pytest.raises(StoreError):
        await CHAIN.run(services.turn("go", session_id="s"))

    assert endings(events) == [TaskFailed]


async def test_an_answer_that_cannot_be_written_is_a_failure_and_nothing_else(events: EventRecorder) -> None:
    sessions = Sessions()

    async def break_it(ctx: Context, next: Next) -> None:
        sessions.broken.add("message")
        ctx.response = Response("done")

    services = stored_in(sessions, events=events)
    with pytest.raises(StoreError):
        await Pipeline.compose(SessionEvents(), break_it).run(services.turn("go", session_id="s"))

    assert endings(events) == [TaskFailed]


async def test_what_the_store_raises_does_not_swallow_a_cancellation(events: EventRecorder) -> None:
    sessions = Sessions()
    sessions.broken.add("cancelled")
    begun = asyncio.Event()

    async def hang(ctx: Context, next: Next) -> None:
        begun.set()
        await asyncio.get_running_loop().create_future()

    services = stored_in(sessions, events=events)
    task = asyncio.ensure_future(Pipeline.compose(SessionEvents(), hang).run(services.turn("go", session_id="s")))
    await begun.wait()
    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task
    assert endings(events) == [TaskCancelled]


async def test_a_journal_that_cannot_be_cleared_does_not_spoil_an_answer(events: EventRecorder) -> None:
    class Stuck(InMemoryJournal):
        async def forget(self, run_id: str) -> None:
            raise StoreError("test://", "disk full")

    store = InMemoryStore()
    store.journal = Stuck()
    with ScriptedModel(["done"]) as model:
        services = Services(models=model, store=store, events=events)
        assert (await CHAIN.run(services.turn("go"))).text == "done"

    assert endings(events) == [TaskCompleted]


async def test_a_failure_tells_what_was_used_and_what_was_shown(events: EventRecorder) -> None:
    class Cut:
        info = ScriptedModel([], stream=True).info

        async def complete(self, request: ModelRequest) -> Any:
            assert request.on_text is not None
            request.on_text("half a sent")
            raise ConnectionError("cut")

    services = Services(models=Cut(), events=events)
    ctx = services.turn("go", session_id="s", stream=True)
    with pytest.raises(ModelError):
        await CHAIN.run(ctx)

    [failed] = events.of(TaskFailed)
    assert (failed.text, failed.finish_reason, failed.error["id"]) == ("half a sent", "error", ctx.run_id)
    assert (await services.store.sessions.list_records("s"))[-1].data["shown"] == "half a sent"


async def test_a_fault_of_a_program_is_told_with_its_id_which_is_in_the_log_too(
    events: EventRecorder, caplog: pytest.LogCaptureFixture
) -> None:
    async def buggy(ctx: Context, next: Next) -> None:
        raise KeyError("oops")

    ctx = Services(events=events).turn("go")
    with pytest.raises(KeyError):
        await Pipeline.compose(SessionEvents(), buggy).run(ctx)

    assert events.of(TaskFailed)[0].error == {"code": "internal", "message": "'oops'", "id": ctx.run_id}
    assert ctx.run_id in caplog.text


async def test_calls_that_ran_before_a_failure_keep_their_results(store: Store) -> None:
    async def guard(ctx: Context, next: Next) -> None:
        if ctx.settling and ctx.pending[0].name == "forbidden":
            raise PermissionError("not here")
        await next(ctx)

    @tool
    async def forbidden() -> str:
        """Never."""
        return "ran"

    chain = Pipeline.compose(
        SessionEvents(), AgenticLoop(), ParallelExecution(), guard, Approval(), ToolExecution(), LlmInvoker()
    )
    with ScriptedModel([[ToolCall("a", "noop"), ToolCall("b", "forbidden")], "go on"]) as model:
        services = Services(models=model, tools=[noop, forbidden], store=store)
        with pytest.raises(PermissionError):
            await chain.run(services.turn("go", session_id="s"))
        await chain.run(services.turn("and now?", session_id="s"))

    assert [said for said in await log(services) if said[0] == "tool"] == [("tool", "ok"), ("tool", NOT_RUN_RESULT)]
    assert_valid_transcript(model.requests[1].messages)


async def test_a_call_that_was_cut_off_is_of_unknown_outcome() -> None:
    begun = asyncio.Event()

    @tool
    async def hang() -> str:
        """Never ends."""
        begun.set()
        return await asyncio.get_running_loop().create_future()

    with ScriptedModel([[ToolCall("a", "noop"), ToolCall("b", "hang")]]) as model:
        services = Services(models=model, tools=[noop, hang])
        task = asyncio.ensure_future(CHAIN.run(services.turn("go", session_id="s")))
        await begun.wait()
        task.cancel()
        await asyncio.wait([task])

    results = [text for role, text in await log(services) if role == "tool"]
    assert results[0] == "ok"
    assert "outcome is unknown" in results[1]
    assert_valid_transcript(await services.history("s"))


@table("place", [0, -1])
async def test_what_a_middleware_puts_in_front_is_not_stored_and_nothing_is_stored_twice(place: int) -> None:
    async def remind(ctx: Context, next: Next) -> None:
        ctx.messages.insert(0 if place == 0 else len(ctx.messages) - 1, Message("system", "Be brief."))
        await next(ctx)

    chain = Pipeline.compose(SessionEvents(), remind, *INNER)
    with ScriptedModel([[ToolCall("c", "noop")], "a", "b"]) as model:
        services = Services(models=model, tools=[noop], instructions="Be kind." if place == 0 else None)
        await chain.run(services.turn("one", session_id="s"))
        await chain.run(services.turn("two", session_id="s"))

    said = [("user", "one"), ("assistant", ""), ("tool", "ok"), ("assistant", "a"), ("user", "two"), ("assistant", "b")]
    assert await log(services) == said


async def test_the_agents_message_is_what_the_person_was_given() -> None:
    async def polite(ctx: Context, next: Next) -> None:
        await next(ctx)
        assert ctx.response is not None
        ctx.response = replace(ctx.response, text="[removed]")

    with ScriptedModel(["my secret"]) as model:
        services = Services(models=model)
        await Pipeline.compose(SessionEvents(), polite, *INNER).run(services.turn("go", session_id="s"))

    assert await log(services) == [("user", "go"), ("assistant", "[removed]")]


async def test_a_short_circuit_in_a_streaming_turn_is_heard_as_one_chunk_before_the_end(events: EventRecorder) -> None:
    async def gate(ctx: Context, next: Next) -> None:
        ctx.response = Response("not now", "rejected")

    services = Services(events=events)
    await Pipeline.compose(SessionEvents(), gate).run(services.turn("go", stream=True))

    kinds = [type(event) for event in events.events]
    assert [chunk.text for chunk in events.of(StreamChunk)] == ["not now"]
    assert kinds.index(StreamChunk) < kinds.index(TaskCompleted)


async def test_the_session_belongs_to_whoever_began_it(store: Store) -> None:
    services = Services(store=store)
    await CHAIN.run(services.turn("hello", session_id="s", principal="ada"))
    await CHAIN.run(services.turn("hello", session_id="s", principal="bob"))

    assert [(session.id, session.owner) for session in await store.sessions.list()] == [("s", "ada")]


async def test_every_store_keeps_the_same_conversation(store: Store, events: EventRecorder) -> None:
    with ScriptedModel(["hello", [ToolCall("c", "noop")], "done", ModelError("out of order")]) as model:
        services = Services(models=model, tools=[noop], store=store, instructions="Be brief.", events=events)
        for text in ("one", "two"):
            await CHAIN.run(services.turn(text, session_id="s"))
        with pytest.raises(ModelError):
            await CHAIN.run(services.turn("three", session_id="s"))

    assert await log(services) == [
        ("user", "one"),
        ("assistant", "hello"),
        ("user", "two"),
        ("assistant", ""),
        ("tool", "ok"),
        ("assistant", "done"),
        ("user", "three"),
        ("failed", ""),
    ]
    assert [event.message_id for event in events.of(MessageAdded)] == ["s:1", "s:2", "s:3", "s:6", "s:7"]


async def test_the_number_of_a_refusals_message_is_that_of_the_message(events: EventRecorder) -> None:
    async def gate(ctx: Context, next: Next) -> None:
        ctx.response = Response("not now", "rejected")

    services = Services(events=events)
    await Pipeline.compose(SessionEvents(), gate).run(services.turn("go", session_id="s"))

    records = {f"s:{r.seq}": r.message for r in await services.store.sessions.list_records("s")}
    for event in events.of(MessageAdded):
        message = records[event.message_id]
        assert message is not None
        assert message.content == event.content


@table("instructions", [None, "Be brief."])
async def test_what_is_stored_is_counted_without_the_system_prompt(instructions: str | None) -> None:
    seen: list[tuple[int, int]] = []

    async def look(ctx: Context, next: Next) -> None:
        seen.append((ctx.stored_count, len(await ctx.services.history("s"))))
        ctx.messages.insert(0, Message("system", "more"))
        seen.append((ctx.stored_count, seen[-1][1]))
        await next(ctx)

    with ScriptedModel(["a", "b", "c"]) as model:
        services = Services(models=model, instructions=instructions)
        for _ in range(3):
            await Pipeline.compose(SessionEvents(), look, *INNER).run(services.turn("go", session_id="s"))

    assert [stored for stored, _ in seen] == [1, 1, 3, 3, 5, 5]
    assert all(stored == real for stored, real in seen)


async def test_a_suspended_turn_that_fails_after_all_is_recorded_from_where_it_stopped() -> None:
    @tool(risk=Risk.HIGH)
    async def grave() -> str:
        """Ask first."""
        return "done"

    with ScriptedModel([[ToolCall("c", "grave")], ModelError("out of order")]) as model:
        services = Services(
            models=model,
            tools=[grave],
            approvals=Gate.suspending(),
            instructions="Be brief.",
        )
        ctx = services.turn("go", session_id="s")
        await CHAIN.run(ctx)
        with pytest.raises(ModelError):
            await CHAIN.run(services.restore(json.loads(json.dumps(ctx.state()))))

    said = [("user", "go"), ("suspended", ""), ("assistant", ""), ("tool", "done"), ("failed", "")]
    assert await log(services) == said


async def test_a_restored_turn_that_fails_records_the_source_of_a_text_that_its_call_had_fetched() -> None:
    async def out_of_order(ctx: Context, next: Next) -> None:
        raise PermissionError("not here")

    services = Services(models=ScriptedModel([]))
    ctx, call = services.turn("go", session_id="s"), ToolCall("c", "site", {"url": "https://x.example"})
    ctx.messages.append(Message("assistant", "", [call]))
    result = ToolResult("c", "site", fence_text("a page", "site", "0123456789abcdef"))
    await services.store.journal.start(ctx.run_id, "c", "site")
    await services.store.journal.finish(ctx.run_id, result)
    with pytest.raises(PermissionError):
        await Pipeline.compose(SessionEvents(), out_of_order).run(services.restore(ctx.state()))

    records = await services.store.sessions.list_records("s")
    assert [record.data[SOURCES_FIELD] for record in records if SOURCES_FIELD in record.data] == [
        ["site https://x.example"]
    ]


async def test_turns_of_one_session_at_the_same_time_leave_a_sound_history_and_true_notes() -> None:
    async def answer(request: ModelRequest) -> Any:
        await asyncio.sleep(0)
        if request.messages[-1].role == "tool":
            return "done"
        return ModelResponse(tool_calls=[ToolCall("c", "noop")])

    services = Services(models=FunctionModel(answer), tools=[noop])
    await asyncio.gather(*(CHAIN.run(services.turn(f"turn {n}", session_id="s")) for n in range(5)))

    history = await services.store.sessions.load_history("s")
    assert_valid_transcript(history.messages)
    assert len(history.messages) == 5 * 4
    assert history.prefix_cache[VALIDATED_PREFIX][0] <= len(history.messages)
    await CHAIN.run(services.turn("afterwards", session_id="s"))
    assert_valid_transcript(await services.history("s"))


async def test_a_compaction_of_a_mended_history_covers_the_same_messages_when_it_is_loaded_again() -> None:
    torn = [Message("user", "before"), Message("assistant", "", [ToolCall("lost", "noop")])]
    seen: list[list[str]] = []

    async def compact(ctx: Context, next: Next) -> None:
        if ctx.compaction is None:
            ctx.compaction = Compaction(Message("user", "summary", origin="compaction"), 3)
        covered = ctx.messages[: ctx.compaction.covers]
        seen.append([message.role for message in covered])
        ctx.response = Response("ok")

    services = Services()
    await services.store.sessions.append("s", [SessionRecord("message", "r", message) for message in torn])
    for _ in range(2):
        await Pipeline.compose(SessionEvents(), compact).run(services.turn("go", session_id="s"))

    assert seen == [["user", "assistant", "tool"]] * 2


async def test_a_compaction_is_recorded_once(store: Store) -> None:
    async def compact(ctx: Context, next: Next) -> None:
        ctx.compaction = ctx.compaction or Compaction(Message("user", "summary", origin="compaction"), 2)
        ctx.response = Response("ok")

    services = Services(store=store)
    for text in ("one", "two", "three"):
        await Pipeline.compose(SessionEvents(), compact).run(services.turn(text, session_id="s"))

    kinds = [record.kind for record in await store.sessions.list_records("s")]
    assert kinds.count("compaction") == 1


def test_what_a_turn_added_is_mended_before_it_is_recorded() -> None:
    ctx = Services().turn("go")
    ctx.messages += [Message("assistant", "", [ToolCall("a", "noop")]), Message("assistant", "and on"), Message("tool")]
    ctx.mark_recorded(1)

    messages = [record.message for record in collect_new_records(ctx) if record.message]

    assert [message.role for message in messages] == ["assistant", "tool", "assistant"]
    assert_valid_transcript([Message("user", "go"), *messages])


@table(
    ("messages", "open_calls"),
    [
        ([], []),
        ([Message("user", "x")], []),
        ([Message("assistant", "", [ToolCall("a", "t"), ToolCall("b", "t")])], ["a", "b"]),
        ([Message("assistant", "", [ToolCall("a", "t"), ToolCall("b", "t")]), Message("tool", "", [], "a")], ["b"]),
        ([Message("assistant", "", [ToolCall("a", "t")]), Message("tool", "", [], "a")], []),
        ([Message("assistant", "", [ToolCall("a", "t")]), Message("assistant", "x")], []),
    ],
)
def test_the_calls_at_the_end_without_results_are_open(messages: list[Message], open_calls: list[str]) -> None:
    assert [call.id for call in find_unfinished_calls(messages)] == open_calls
