"""A turn is restored from its last checkpoint as it was, whatever was done to it between checkpoints; and a checkpoint
holds what is new."""

import asyncio
import gc
import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sophon import Context, Message, Services, ToolCall
from sophon.context import Step
from sophon.errors import StateError
from sophon.extensions import Key
from sophon.messages import Compaction
from sophon.testing import VirtualClock
from sophon_hosting.runs.checkpoints.checkpoint_builder import LONG_TEXT_CHARACTERS, CheckpointBuilder, CheckpointWrite
from sophon_hosting.runs.checkpoints.checkpoint_store import CHECKPOINT_BUILDER, read_checkpoint
from sophon_hosting.store.runs.contract import Run
from sophon_hosting.store.sql_host_store import SqlHostStore
from tests.units_of_work import store_checkpoint

CHILDREN: Key[dict[str, Any]] = Key(
    "children",
    dump=lambda turns: {name: turn.snapshot() if isinstance(turn, Context) else turn for name, turn in turns.items()},
    load=dict,
)
LONG = "long " * LONG_TEXT_CHARACTERS


def services() -> Services:
    return Services(clock=VirtualClock(auto=False))


def history(count: int) -> list[Message]:
    return [Message("assistant" if number % 2 else "user", f"earlier {number}") for number in range(count)]


def turn(stored: Sequence[Message]) -> Context:
    """A turn behind a stored history, as it is when its first tools are called."""
    ctx = services().turn("go", session_id="s", run_id="r")
    ctx.messages[:0] = stored
    ctx.history = list(stored)
    ctx.mark_recorded(len(ctx.messages))
    return ctx


def plain(ctx: Context) -> Any:
    return json.loads(json.dumps(ctx.state()))


class Case:
    """A turn, its children and the store that its checkpoints go to, after JSON."""

    def __init__(self, stored: list[Message]) -> None:
        self.stored, self.store = stored, SqlHostStore("memory://")
        self.ctx, self.builder = turn(stored), CheckpointBuilder()
        self.ctx.put(CHILDREN, {})
        self.count = 0

    def new_message(self) -> Message:
        self.count += 1
        return Message("assistant", f"m{self.count}", [ToolCall(f"c{self.count}", "look", {"n": self.count})])

    @property
    def turns(self) -> list[Context]:
        children = self.ctx.get(CHILDREN) or {}
        return [self.ctx, *(child for child in children.values() if isinstance(child, Context))]

    async def start(self) -> None:
        await self.store.runs.accept(Run("r", "s"))
        await self.store.runs.begin("r", self.ctx.services.clock.now())

    async def write(self, taken: bool = True, reported: bool = True) -> None:
        write = self.builder.build(self.ctx.snapshot(), self.ctx.history)
        if taken:
            await store_checkpoint(self.store, "r", json.loads(json.dumps(write.state)), write.logs)
        if not (taken and reported):
            self.builder.revert(write)

    async def load(self) -> Context:
        run, logs = await self.store.runs.get("r"), await self.store.runs.load_logs("r")
        assert run.checkpoint is not None
        loaded = read_checkpoint(run.checkpoint, logs, self.stored)
        ctx = services().restore(loaded.state)
        ctx.put(CHECKPOINT_BUILDER, loaded.builder)
        ctx.history = self.stored
        return ctx

    async def resume(self) -> None:
        """The next process: the children are restored one by one, when they go on."""
        await self.write()
        self.ctx = await self.load()
        builder = self.ctx.get(CHECKPOINT_BUILDER)
        assert builder is not None
        self.builder = builder

    def go_on(self, name: str) -> None:
        children = self.ctx.get(CHILDREN)
        assert children is not None
        if name in children and not isinstance(children[name], Context):
            children[name] = self.ctx.restore_child(children[name])

    def change(self, kind: str, which: int = 0, at: int = 0) -> None:
        ctx = self.turns[which % len(self.turns)]
        messages, children = ctx.messages, self.ctx.get(CHILDREN)
        assert children is not None
        at %= len(messages) or 1
        name = "ab"[which % 2]
        if kind == "compact":
            ctx.compaction = Compaction(Message("user", f"{LONG} {at}", origin="compaction"), at)
        elif kind == "assign":
            ctx.messages = [*messages[at:], self.new_message()]
        elif kind == "child":
            children[name] = self.ctx.child("a part", Step(f"{name}{self.count}"), prompt=f"{LONG}{which}")
        elif kind == "end":
            children.pop(name, None)
        elif kind == "go on":
            self.go_on(name)
        else:
            self.edit(messages, kind, at)

    def edit(self, messages: list[Message], kind: str, at: int) -> None:
        if kind == "append":
            messages += [self.new_message(), Message("tool", "done", tool_call_id=f"c{self.count}")]
        elif kind == "replace" and messages:
            messages[at] = replace(messages[at], content=f"changed {self.count}")
        elif kind == "insert":
            messages.insert(at, Message("system", "a note"))
        elif kind == "delete" and len(messages) > 1:
            del messages[at]
        elif kind == "cut":
            messages[at:] = [self.new_message()]
        elif kind == "again":
            messages.extend(self.stored[at:])


async def test_what_two_checkpoints_had_that_were_refused_together_is_written_by_the_next() -> None:
    case = Case(history(2))
    await case.start()
    refused: list[CheckpointWrite] = []
    for at in range(2):
        case.change("append")
        case.change("compact", at=at)
        refused.append(case.builder.build(case.ctx.snapshot(), case.ctx.history))
    for write in refused:
        case.builder.revert(write)
    case.change("compact", at=2)
    await case.write()
    assert plain(await case.load()) == plain(case.ctx)


KINDS = [
    "append",
    "append",
    "replace",
    "insert",
    "delete",
    "cut",
    "assign",
    "compact",
    "child",
    "end",
    "go on",
    "again",
]
changes = st.tuples(st.sampled_from(KINDS), st.integers(0, 3), st.integers(0, 9))
steps = st.one_of(changes, changes, changes, st.sampled_from([("write",), ("refused",), ("unreported",), ("resume",)]))


@given(st.integers(0, 5), st.lists(steps, max_size=25))
def test_what_is_restored_is_the_state_whatever_was_done_to_it(stored: int, done: list[tuple[Any, ...]]) -> None:
    async def all_of_it() -> None:
        case = Case(history(stored))
        await case.start()
        for kind, *rest in done:
            match kind:
                case "write":
                    await case.write()
                case "refused":
                    await case.write(taken=False)
                case "unreported":
                    await case.write(reported=False)
                case "resume":
                    await case.resume()
                case _:
                    case.change(kind, *rest)
        await case.write()
        assert plain(await case.load()) == plain(services().restore(plain(case.ctx)))

    asyncio.run(all_of_it())


def size(write: CheckpointWrite) -> int:
    return len(json.dumps([write.state, [[each.log, each.start, each.entries] for each in write.logs]]))


def a_round(ctx: Context, number: int) -> None:
    ctx.messages.append(Message("assistant", "x" * 100, [ToolCall(f"c{number:04}", "look", {"what": "x"})]))
    ctx.messages.append(Message("tool", "y" * 100, tool_call_id=f"c{number:04}"))


@pytest.mark.parametrize("stored", [10, 1000])
def test_a_round_costs_the_same_behind_any_history_and_in_any_round(stored: int) -> None:
    ctx, builder = turn(history(stored)), CheckpointBuilder()
    sizes: list[int] = []
    for number in range(300):
        a_round(ctx, number)
        sizes.append(size(builder.build(ctx.snapshot(), ctx.history)))
    # The first has the message and the reference to the history; numbers have up to two digits more in the last.
    assert max(sizes[1:]) - min(sizes[1:]) <= 20
    assert max(sizes) < 2000


def count_calls(work: Any) -> int:
    """Return how many functions, those in C included, some work calls."""
    called = 0

    def count(frame: Any, event: str, function: Any) -> None:
        nonlocal called
        called += event in ("call", "c_call")

    before = sys.getprofile()
    gc.disable()  # hypothesis has a callback that runs with each collection
    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(before)
        gc.enable()
    return called


@pytest.mark.parametrize("plain_list", [False, True])
def test_the_event_loop_does_the_same_work_behind_any_history(plain_list: bool) -> None:
    counts: set[int] = set()
    for stored in (10, 4000):
        ctx, builder = turn(history(stored)), CheckpointBuilder()
        if plain_list:
            ctx.messages = list(ctx.messages)
        builder.build(ctx.snapshot(), ctx.history)
        for number in range(3):
            a_round(ctx, number)
            counts.add(count_calls(lambda ctx=ctx, builder=builder: builder.build(ctx.snapshot(), ctx.history)))
    assert len(counts) == 1


def test_a_long_text_of_the_state_is_written_once() -> None:
    ctx, builder = services().turn(LONG), CheckpointBuilder()
    ctx.compaction = Compaction(Message("user", f"{LONG} summary", origin="compaction"), 1)
    first, second = (size(builder.build(ctx.snapshot())) for _ in range(2))
    assert first > 3 * len(LONG)  # the message, the text of the turn, the summary
    assert second < 2000


def test_a_plans_step_that_has_ended_leaves_no_log() -> None:
    async def all_of_it() -> None:
        case = Case([])
        await case.start()
        case.change("child", 0, 0)
        await case.write()
        assert len([log for log in await case.store.runs.load_logs("r") if log]) == 2
        case.change("end", 0, 0)
        await case.write()
        assert len([log for log in await case.store.runs.load_logs("r") if log]) == 1

    asyncio.run(all_of_it())


def test_a_resumed_turn_does_not_write_again_what_the_store_has() -> None:
    async def all_of_it() -> None:
        case = Case(history(100))
        await case.start()
        case.change("child", 0, 0)
        for _ in range(20):
            case.change("append", 0, 0)
            case.change("append", 1, 0)
        await case.resume()
        before = size(case.builder.build(case.ctx.snapshot(), case.ctx.history))
        case.go_on("a")
        case.change("append", 0, 0)
        case.change("append", 1, 0)
        write = case.builder.build(case.ctx.snapshot(), case.ctx.history)
        assert [len(each.entries) for each in write.logs] == [2, 2]
        assert before < 3000

    asyncio.run(all_of_it())


@pytest.mark.parametrize("broken", ["logs", "history", "texts", "path"])
def test_a_checkpoint_that_lacks_something_is_refused(broken: str) -> None:
    async def all_of_it() -> None:
        case = Case(history(4))
        await case.start()
        case.change("compact", 0, 1)
        await case.write()
        run, logs = await case.store.runs.get("r"), dict(await case.store.runs.load_logs("r"))
        state: dict[str, Any] = dict(run.checkpoint or {})
        if broken == "logs":
            logs[1] = logs[1][:-1]
        elif broken == "texts":
            del logs[0]
        elif broken == "path":
            state["logs"] = [[["extensions", "unknown", 3], 1, 1]]
        with pytest.raises(StateError):
            read_checkpoint(state, logs, [] if broken == "history" else case.stored)

    asyncio.run(all_of_it())


def test_the_small_part_alone_is_no_state() -> None:
    write = CheckpointBuilder().build(turn([]).snapshot())
    with pytest.raises(StateError):
        services().restore(write.state)
