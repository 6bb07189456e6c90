import asyncio
import gc
from collections.abc import Sequence
from contextlib import nullcontext

import pytest

from sophon.errors import NotFound, StoreError, StoreUnavailable
from sophon.events import (
    AgentStatus,
    Event,
    EventSink,
    Progress,
    StageCompleted,
    StreamChunk,
    StreamReset,
    TaskCompleted,
    TaskQueued,
    ToolCallStarted,
)
from sophon.events import Message as MessageAdded
from sophon.messages import Usage
from sophon.stores.contract import Store
from sophon.stores.run_fence import RunFence
from sophon.stores.unit_of_work import UnitOfWork
from sophon.testing import EventRecorder, VirtualClock
from sophon_hosting.events.event_bus import EventBus
from sophon_hosting.events.session_transactions import BuildRows, Stored, Transaction
from sophon_hosting.events.wire_event import to_logged_event
from sophon_hosting.store.events.logged_event import LoggedEvent
from sophon_hosting.store.runs.contract import FinishResult, Run, RunOutcome


def of(event: Event, task: str = "t", session: str = "s") -> Event:
    event.session_id, event.task_id, event.run_id = session, task, task
    return event


def progress(iteration: int, **whose: str) -> Event:
    return of(Progress(iteration=iteration, tool_calls=0, usage=Usage()), **whose)


def chunk(text: str, epoch: int = 0, **whose: str) -> Event:
    return of(StreamChunk(epoch=epoch, text=text), **whose)


def completed(text: str = "done") -> Event:
    return TaskCompleted(text=text, finish_reason="stop", usage=Usage(), duration_ms=1)


async def test_events_are_heard_in_order_with_chunks_in_their_place(feed: EventBus, ear) -> None:
    await feed.join_session("s", 0, ear)
    for event in (progress(1), chunk("a"), progress(2), chunk("b"), progress(3)):
        feed.emit(event)
    await feed.flush("s")

    assert ear.names == ["progress", "stream_chunk", "progress", "stream_chunk", "progress"]
    assert ear.seqs == [1, 2, 3]


async def test_what_is_heard_is_in_the_log_already(feed: EventBus, store: Store) -> None:
    seen: list[tuple[int | None, int]] = []
    kept: list[int] = []

    class Runs:
        async def record(self, session_id: str, unit: UnitOfWork, events: Sequence[LoggedEvent]) -> int:
            last = await store.runs.record(session_id, unit, events)
            kept.append(last)
            return last

    own = EventBus(store.events, Runs(), VirtualClock())  # type: ignore[arg-type]
    await own.join_session("s", 0, lambda frame: seen.append((frame.seq, kept[-1])))
    for n in range(5):
        own.emit(progress(n))
        await asyncio.sleep(0)
    await own.flush("s")

    assert all(seq <= last for seq, last in seen)
    assert len(seen) == 5


async def test_who_joins_while_events_come_misses_none_and_hears_none_twice(feed: EventBus, make_ear) -> None:
    joins: list[asyncio.Task] = []
    ears = []
    for n in range(60):
        feed.emit(progress(n))
        if n % 7 == 0:
            ears.append(make_ear())
            joins.append(asyncio.create_task(feed.join_session("s", 0, ears[-1])))
        await asyncio.sleep(0)
    joined = [await join for join in joins]
    await feed.flush("s")

    for each, ear in zip(joined, ears, strict=True):
        assert [frame.seq for frame in each.events] + ear.seqs == list(range(1, 61))


async def test_a_chunk_with_nothing_in_front_of_it_is_heard_at_once(feed: EventBus, ear) -> None:
    await feed.join_session("s", 0, ear)
    feed.emit(chunk("now"))
    assert [frame.data["text"] for frame in ear.frames] == ["now"]


async def test_sessions_do_not_wait_for_each_other_and_watchers_hear_all(feed: EventBus, make_ear) -> None:
    one, all_of_them = make_ear(), make_ear()
    await feed.join_session("s", 0, one)
    feed.subscribe_all(all_of_them)
    feed.emit(progress(1))
    feed.emit(progress(1, session="other"))
    await feed.flush("s")
    await feed.flush("other")

    assert [frame.session_id for frame in one.frames] == ["s"]
    assert sorted(frame.session_id for frame in all_of_them.frames) == ["other", "s"]


async def test_who_left_hears_nothing_and_a_silent_session_costs_nothing(feed: EventBus, ear) -> None:
    await feed.join_session("s", 0, ear)
    feed.unsubscribe("s", ear)
    feed.emit(progress(1))
    await feed.flush("s")

    assert ear.frames == []
    await settled(feed)


async def settled(feed: EventBus) -> None:
    async with asyncio.timeout(30):
        while feed.session_count:
            await asyncio.sleep(0)


async def test_a_broken_listener_breaks_nothing(feed: EventBus, ear) -> None:
    def broken(frame: object) -> None:
        raise RuntimeError("broken")

    await feed.join_session("s", 0, broken)
    await feed.join_session("s", 0, ear)
    feed.emit(progress(1))
    await feed.flush("s")
    assert ear.seqs == [1]


async def test_who_joins_in_mid_stream_gets_the_text_so_far(feed: EventBus, ear) -> None:
    for event in (chunk("old"), of(StreamReset(epoch=1, reason="again")), chunk("He", 1), chunk("llo", 1)):
        feed.emit(event)
    joined = await feed.join_session("s", 0, ear)
    feed.emit(chunk("!", 1))
    await feed.flush("s")

    assert [(frame.name, frame.data.get("text")) for frame in joined.events] == [
        ("stream_reset", None),
        ("stream_chunk", "Hello"),
    ]
    assert (ear.frames[0].data["text"], ear.frames[0].data["offset"]) == ("!", 5)


async def test_the_reply_of_a_task_that_is_over_is_not_replayed(feed: EventBus, ear) -> None:
    feed.emit(of(TaskQueued()))
    feed.emit(chunk("text"))
    feed.emit(of(completed()))
    await feed.flush("s")
    assert [frame.name for frame in (await feed.join_session("s", 0, ear)).events] == ["task_queued", "task_completed"]
    feed.unsubscribe("s", ear)
    await settled(feed)


async def test_a_task_tells_nothing_twice(feed: EventBus, ear) -> None:
    await feed.join_session("s", 0, ear)
    said = MessageAdded(message_id="s:1", role="user", content="hello")
    for event in (of(TaskQueued()), of(said), of(TaskQueued(position=3)), of(said), progress(1), progress(1)):
        feed.emit(event)
    await feed.flush("s")
    assert ear.names == ["task_queued", "message", "progress", "progress"]


async def test_another_process_knows_what_was_told(feed: EventBus, store: Store, clock: VirtualClock, ear) -> None:
    said = MessageAdded(message_id="s:1", role="user", content="hello")
    for event in (of(TaskQueued()), of(said), of(TaskQueued(), task="u")):
        feed.emit(event)
    await feed.flush("s")
    next_process = EventBus(store.events, store.runs, clock)
    await next_process.load_run_events(Run("t", "s"))

    await next_process.join_session("s", 99, ear)
    next_process.emit(of(said))
    next_process.emit(of(MessageAdded(message_id="s:2", role="assistant", content="hi")))
    await next_process.flush("s")

    assert next_process.has_emitted(Run("t", "s"), "task_queued")
    assert not next_process.has_emitted(Run("u", "s"), "task_queued")
    assert [frame.data["role"] for frame in ear.frames] == ["assistant"]


def said_before_calls(iteration: int, text: str) -> Event:
    return of(MessageAdded(message_id=f"t:{iteration}", role="assistant", content=text))


async def test_a_task_has_several_texts_and_one_that_was_made_again_replaces_the_first(feed: EventBus, ear) -> None:
    await feed.join_session("s", 0, ear)
    texts = [(1, "First."), (1, "First."), (2, "Second."), (2, "Another second."), (2, "Second."), (2, "Second.")]
    for event in (of(TaskQueued()), *(said_before_calls(*each) for each in texts)):
        feed.emit(event)
    await feed.flush("s")
    assert [(frame.data["message_id"], frame.data["content"]) for frame in ear.frames[1:]] == [
        ("t:1", "First."),
        ("t:2", "Second."),
        ("t:2", "Another second."),
        ("t:2", "Second."),
    ]


async def test_another_process_repeats_no_text_and_replaces_a_changed_one(
    feed: EventBus, store: Store, clock: VirtualClock, ear
) -> None:
    for event in (of(TaskQueued()), said_before_calls(1, "First."), said_before_calls(2, "Second.")):
        feed.emit(event)
    await feed.flush("s")
    next_process = EventBus(store.events, store.runs, clock)
    await next_process.load_run_events(Run("t", "s"))

    await next_process.join_session("s", 99, ear)
    for event in (said_before_calls(1, "First."), said_before_calls(2, "Other."), said_before_calls(3, "Third.")):
        next_process.emit(event)
    await next_process.flush("s")

    assert [frame.data["content"] for frame in ear.frames] == ["Other.", "Third."]


def finishing(store: Store, outcome: RunOutcome) -> Transaction[FinishResult]:
    """The transaction that ends the run `t`, as a host's."""

    async def finish(build_rows: BuildRows, unit: UnitOfWork) -> Stored[FinishResult]:
        done = await store.runs.finish("t", outcome, events=lambda _: build_rows([of(completed())]), unit=unit)
        return done, done.seq if done.is_first else None

    return finish


async def test_the_end_of_a_run_comes_after_what_came_before_it(feed: EventBus, store: Store, ear) -> None:
    await store.runs.accept(Run("t", "s", "ada"))
    await feed.join_session("s", 0, ear)
    feed.emit(of(TaskQueued()))
    ending = feed.commit("s", finishing(store, RunOutcome("completed", {"text": "done"})))
    finished, _ = await asyncio.gather(ending, emit_later(feed, progress(9, task="u")))
    await feed.flush("s")

    assert (ear.names[0], ear.seqs) == ("task_queued", [1, 2, 3])
    assert ear.names[finished.seq - 1] == "task_completed"


async def emit_later(feed: EventBus, event: Event) -> None:
    feed.emit(event)


async def test_an_end_that_is_not_the_first_is_told_nobody(feed: EventBus, store: Store, ear) -> None:
    await store.runs.accept(Run("t", "s", "ada"))
    await feed.join_session("s", 0, ear)

    end = finishing(store, RunOutcome("cancelled"))
    assert [(await feed.commit("s", end)).is_first for _ in range(2)] == [True, False]
    assert ear.seqs == [1]


class Refusing:
    """A store that takes nothing the first `times` times."""

    def __init__(self, store: Store, times: int) -> None:
        self.store, self.times = store, times

    async def record(self, session_id: str, unit: UnitOfWork, events: Sequence[LoggedEvent]) -> int:
        if self.times > 0:
            self.times -= 1
            raise StoreError("memory://", "it is full")
        return await self.store.runs.record(session_id, unit, events)


async def test_a_store_that_refuses_is_asked_again_and_nothing_is_lost(store: Store, clock: VirtualClock, ear) -> None:
    feed = EventBus(store.events, Refusing(store, 3), clock)  # type: ignore[arg-type]
    await feed.join_session("s", 0, ear)
    for event in (progress(1), chunk("a"), chunk("b"), progress(2)):
        feed.emit(event)
    while ear.seqs != [1, 2]:
        await clock.sleep(0.1)

    assert ear.names == ["progress", "stream_chunk", "progress"]
    assert ear.frames[1].data["text"] == "ab"


async def test_a_row_is_built_once_however_often_the_store_refuses_it(store: Store, clock: VirtualClock, ear) -> None:
    built: list[str] = []

    def build_row(event: Event) -> LoggedEvent:
        built.append(event.wire_name)
        return to_logged_event(event)

    feed = EventBus(store.events, Refusing(store, 3), clock, build_row=build_row)  # type: ignore[arg-type]
    await feed.join_session("s", 0, ear)
    feed.emit(progress(1))
    feed.emit(progress(2))
    while ear.seqs != [1, 2]:
        await clock.sleep(0.1)

    assert built == ["progress", "progress"]


@pytest.mark.parametrize(
    "bad",
    [
        ToolCallStarted(call_id="c", tool="t", arguments_digest="", arguments={"x": object()}),
        StageCompleted(stage="execute", data={"x": object()}),
        AgentStatus(status="thinking", detail={"x": object()}),  # type: ignore[arg-type]
    ],
    ids=["durable", "trace", "transient"],
)
async def test_an_event_that_json_cannot_encode_takes_no_other_with_it(
    feed: EventBus, store: Store, ear, bad: Event
) -> None:
    await feed.join_session("s", 0, ear)
    feed.emit(of(TaskQueued(position=0)))
    feed.emit(of(StageCompleted(stage="execute", data={})))
    feed.emit(progress(1))
    with nullcontext() if type(bad) is AgentStatus else pytest.raises(TypeError):
        feed.emit(of(bad))
    feed.emit(progress(2))
    await feed.flush("s")

    assert [each.name for each in await store.events.list_after("s", 0)] == ["task_queued", "progress", "progress"]
    assert ear.seqs == [1, 2, 3]
    assert [each.name for each in await store.events.list_traces("s", "t")] == ["stage_completed"]
    assert not feed.has_emitted(Run("t", "s"), "tool_call_started")


class Slow:
    """A store that has stored what it was given, as its writer does, before its caller hears of it."""

    def __init__(self, store: Store) -> None:
        self.store, self.stored, self.release = store, asyncio.Event(), asyncio.Event()

    async def record(self, session_id: str, unit: UnitOfWork, events: Sequence[LoggedEvent]) -> int:
        last = await self.store.runs.record(session_id, unit, events)
        self.stored.set()
        await self.release.wait()
        return last


@pytest.mark.parametrize("method", ["flush", "commit_events"])
async def test_a_caller_that_is_cancelled_stores_nothing_twice(
    store: Store, clock: VirtualClock, ear, method: str
) -> None:
    slow = Slow(store)
    feed = EventBus(store.events, slow, clock)  # type: ignore[arg-type]
    await feed.join_session("s", 0, ear)
    feed.emit(progress(1))

    async def write(build_rows: BuildRows) -> Stored[None]:
        return None, await slow.record("s", UnitOfWork(), build_rows([of(completed())]))

    call = asyncio.create_task(feed.flush("s") if method == "flush" else feed.commit_events("s", write))
    await slow.stored.wait()
    call.cancel()
    await asyncio.wait([call])
    assert call.cancelled()
    slow.release.set()
    await feed.flush("s")

    expected = ["progress"] if method == "flush" else ["progress", "task_completed"]
    assert [each.name for each in await store.events.list_after("s", 0)] == expected
    assert (ear.names, ear.seqs) == (expected, list(range(1, len(expected) + 1)))


class Counting:
    """A store that counts its transactions; while each is made, two replies stream in turn."""

    def __init__(self, store: Store, streamed: Sequence[str] = ()) -> None:
        self.store, self.count, self.streamed = store, 0, list(streamed)
        self.emit: EventSink | None = None

    async def record(self, session_id: str, unit: UnitOfWork, events: Sequence[LoggedEvent]) -> int:
        self.count += 1
        for task in self.streamed[:2]:
            assert self.emit is not None
            self.emit.emit(chunk(f"{self.count}", task=task))
        del self.streamed[:2]
        return await self.store.runs.record(session_id, unit, events)


@pytest.mark.parametrize("method", ["flush", "commit_events"])
async def test_nobody_waits_for_replies_that_stream(store: Store, clock: VirtualClock, ear, method: str) -> None:
    counting = Counting(store, ["t", "u"] * 20)
    feed = counting.emit = EventBus(store.events, counting, clock)  # type: ignore[arg-type]
    await feed.join_session("s", 0, ear)
    feed.emit(progress(1))

    async def write(build_rows: BuildRows) -> Stored[None]:
        return None, await store.runs.record("s", UnitOfWork(), build_rows([progress(2)]))

    await (feed.flush("s") if method == "flush" else feed.commit_events("s", write))

    assert counting.count == 1
    assert ear.names == ["progress", "stream_chunk", "stream_chunk", *["progress"][: method == "commit_events"]]


async def test_a_chunk_alone_needs_no_transaction(store: Store, clock: VirtualClock, ear) -> None:
    counting = Counting(store)
    feed = EventBus(store.events, counting, clock)  # type: ignore[arg-type]
    await feed.join_session("s", 0, ear)
    feed.emit(chunk("a"))
    feed.emit(chunk("b"))  # waits for the next ones, to be merged with them
    assert [frame.data["text"] for frame in ear.frames] == ["a"]
    await feed.flush("s")

    assert counting.count == 0
    assert [frame.data["text"] for frame in ear.frames] == ["a", "b"]


async def test_an_end_takes_along_what_came_before_it_or_neither_is_written(
    feed: EventBus, store: Store, ear, recorder: EventRecorder
) -> None:
    await store.runs.accept(Run("t", "s", "ada"))
    await feed.join_session("s", 0, ear)
    feed.emit(progress(1))
    refused = [True]

    finish = finishing(store, RunOutcome("cancelled"))

    async def end(build_rows: BuildRows, unit: UnitOfWork) -> Stored[FinishResult]:
        if refused.pop():
            raise StoreError("memory://", "it is full")
        return await finish(build_rows, unit)

    with pytest.raises(StoreError):
        await feed.commit("s", end)
    assert (await store.events.last_seq("s"), ear.names, (await store.runs.get("t")).is_finished) == (0, [], False)
    refused.append(False)
    await feed.commit("s", end)
    stored = [(each.seq, each.name) for each in await store.events.list_after("s", 0)]
    assert stored == [(1, "progress"), (2, "task_completed")]
    assert (ear.names, ear.seqs) == (["progress", "task_completed"], [1, 2])


async def test_the_events_of_a_deleted_session_are_dropped(feed: EventBus, store: Store) -> None:
    await store.sessions.delete("s")
    feed.emit(progress(1))
    await settled(feed)


async def test_joining_a_session_that_is_gone_is_empty(feed: EventBus, store: Store, ear) -> None:
    joined = await feed.join_session("nobody", 0, ear)
    assert (joined.seq, list(joined.events), joined.is_partial) == (0, [], False)
    feed.emit(progress(1, session="nobody"))
    with pytest.raises(NotFound):
        await feed.flush("nobody")


async def test_the_outlet_hears_numbered_events(feed: EventBus, recorder: EventRecorder) -> None:
    feed.emit(of(AgentStatus(status="thinking")))
    feed.emit(progress(1))
    await feed.flush("s")
    assert [(type(event).__name__, event.seq) for event in recorder.events] == [("AgentStatus", None), ("Progress", 1)]


async def test_the_fence_of_a_turn_that_ends_while_somebody_reads_leaves_no_sequencer(feed: EventBus) -> None:
    """A client that joins at the end of a turn holds the lock, and stores nothing that would forget the fence."""
    fence = RunFence("t", 1)
    feed.session("s").fence(fence, lambda: None)
    async with feed.session("s").hold():
        feed.session("s").release_fence(fence)
    assert feed.session_count == 0


async def test_a_caller_that_is_cancelled_leaves_no_failure_of_the_store_unheard(feed: EventBus) -> None:
    unheard: list[str] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: unheard.append(context["message"]))
    began, is_away = asyncio.Event(), asyncio.Event()

    async def fail(*_: object) -> Stored[None]:
        began.set()
        await is_away.wait()
        raise StoreUnavailable("SQLite", "locked", "the store is locked")

    caller = asyncio.create_task(feed.commit("s", fail))
    await began.wait()
    caller.cancel()
    await asyncio.gather(caller, return_exceptions=True)
    is_away.set()
    await feed.aclose()  # after the transaction
    del caller
    gc.collect()
    assert unheard == []
