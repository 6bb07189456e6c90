"""The end of a cancelled turn: recorded once and whole, however often it is cancelled, and nothing starts after it."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import pytest

from sophon import Context, Middleware, ModelRequest, ModelResponse, Next, Pipeline, Services, ToolCall, tool
from sophon.context import TurnFacts
from sophon.context.turn_log import ClaimedTurn, TurnEnd, TurnEvents
from sophon.errors import ChainError
from sophon.events import Emit, TaskCancelled, TaskCompleted, TaskFailed
from sophon.stores.contract import Store
from sophon.stores.sessions.contract import SessionRecord
from sophon.testing import EventRecorder, FunctionModel, VirtualClock, assert_valid_transcript
from sophon_hosting.store.factory import host_store_from_url
from sophon_middlewares.chains import twelve
from sophon_middlewares.outer.session_events import session_events
from tests.databases import SQLITE, copy_database
from tests.tables import table


@dataclass
class Turn:
    """A turn whose model calls `quick` and `hang` in each round; `hang` waits for `release`."""

    store: Store | None = None
    requests: list[str] = field(default_factory=list)
    tools: list[str] = field(default_factory=list)
    hanging: asyncio.Event = field(default_factory=asyncio.Event)
    release: asyncio.Event = field(default_factory=asyncio.Event)
    events: EventRecorder = field(default_factory=EventRecorder)
    options: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        @tool
        async def quick() -> str:
            """Return at once."""
            self.tools.append("quick")
            return "quick result"

        @tool
        async def hang() -> str:
            """Wait."""
            self.tools.append("hang")
            self.hanging.set()
            await self.release.wait()
            return "late result"

        async def answer(request: ModelRequest) -> str | ModelResponse:
            number = len(self.requests)
            self.requests.append(request.purpose)
            return ModelResponse(tool_calls=[ToolCall(f"q{number}", "quick"), ToolCall(f"h{number}", "hang")])

        self.services = Services(models=FunctionModel(answer), tools=[quick, hang], events=self.events,
                                 clock=VirtualClock(), store=self.store, **self.options)  # fmt: skip
        self.ctx = self.services.turn("go", session_id="s", planning="Never")

    def chain(self, middleware: Middleware | None = None, *, place: int = 1, recorded: bool = True) -> Pipeline:
        chain = twelve(self.services)
        added = [] if middleware is None else [middleware]
        return Pipeline.compose(*chain[int(not recorded) : place], *added, *chain[place:])

    def ends(self) -> list[type]:
        kinds = TaskCompleted | TaskFailed | TaskCancelled
        return [type(event) for event in self.events.events if isinstance(event, kinds)]

    async def recorded(self) -> list[str]:
        records = await self.services.store.sessions.list_records("s")
        return [record.message.role if record.message else record.kind for record in records]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    copy_database(tmp_path)
    return tmp_path


@pytest.fixture
async def sqlite(folder: Path) -> AsyncIterator[Store]:
    """A store that takes its time to write."""
    store = host_store_from_url(SQLITE, folder=folder)
    await store.open()
    yield store
    await store.close()


async def cancel_until_it_ends(task: asyncio.Task[Any], *, every: int) -> None:
    while not task.done():
        task.cancel()
        for _ in range(every):
            await asyncio.sleep(0)


@pytest.mark.parametrize("every", [1, 2, 7])
async def test_cancels_while_the_cancellation_is_recorded_lose_nothing_of_it(sqlite: Store, every: int) -> None:
    turn = Turn(sqlite)
    task = asyncio.ensure_future(turn.chain().run(turn.ctx))
    await turn.hanging.wait()
    await cancel_until_it_ends(task, every=every)

    assert task.cancelled()
    assert turn.ends() == [TaskCancelled]
    assert await turn.recorded() == ["user", "assistant", "tool", "tool", "cancelled"]
    history = await turn.services.history("s")
    assert_valid_transcript(history)
    assert history[2].content == "quick result"


async def test_cancels_while_a_failure_is_recorded_lose_nothing_of_it(sqlite: Store) -> None:
    cancelling: list[asyncio.Task[None]] = []

    async def failing(ctx: Context, next: Next) -> None:
        if ctx.settling:
            cancelling.append(asyncio.ensure_future(cancel_until_it_ends(task, every=1)))
            raise ValueError("broken")
        await next(ctx)

    turn = Turn(sqlite)
    task = asyncio.ensure_future(turn.chain(failing, place=8).run(turn.ctx))
    await asyncio.wait([task])

    assert task.cancelled()
    assert turn.ends() == [TaskFailed]
    assert await turn.recorded() == ["user", "assistant", "tool", "tool", "failed"]


class HangingLog:
    """A turn log over a store that does not answer."""

    async def begin(self, turn: TurnFacts, records: Sequence[SessionRecord], events: TurnEvents, emit: Emit, /) -> None:
        """Record nothing."""

    def claim(self, ctx: ClaimedTurn, /) -> AbstractAsyncContextManager[None]:
        return nullcontext()

    async def conclude(self, turn: TurnFacts, records: Sequence[SessionRecord], end: TurnEnd, emit: Emit, /) -> bool:
        await asyncio.Event().wait()
        return True


async def test_a_store_that_hangs_does_not_hold_a_cancelled_turn_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_events, "CONCLUSION_SECONDS", 0.0)
    turn = Turn(options={"turn_log": HangingLog()})
    task = asyncio.ensure_future(turn.chain().run(turn.ctx))
    await turn.hanging.wait()
    task.cancel()
    await asyncio.wait([task])
    assert task.cancelled()


Parts = list[asyncio.Future[None]]


def shielded(parts: Parts) -> Middleware:
    async def shield(ctx: Context, next: Next) -> None:
        parts.append(asyncio.ensure_future(next(ctx)))
        await asyncio.shield(parts[-1])

    return shield


def in_own_task(parts: Parts) -> Middleware:
    async def own_task(ctx: Context, next: Next) -> None:
        parts.append(asyncio.ensure_future(next(ctx)))
        await asyncio.wait(parts[-1:])

    return own_task


async def run_until_timed_out(turn: Turn, run: Callable[[], Coroutine[Any, Any, Any]]) -> None:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(None) as limit:
            stopping = asyncio.ensure_future(turn.hanging.wait())
            stopping.add_done_callback(lambda _: limit.reschedule(0))
            await run()


async def run_until_scope_cancelled(turn: Turn, run: Callable[[], Coroutine[Any, Any, Any]]) -> None:
    with anyio.CancelScope() as scope:
        stopping = asyncio.ensure_future(turn.hanging.wait())
        stopping.add_done_callback(lambda _: scope.cancel())
        await run()


@table("recorded", [True, False])
@table("place", [1, 7, 10])
@table("part", [shielded, in_own_task])
@table("stop", [run_until_timed_out, run_until_scope_cancelled])
async def test_a_part_that_goes_on_after_the_cancellation_starts_nothing(
    stop: Callable[..., Coroutine[Any, Any, None]], part: Callable[[Parts], Middleware], place: int, recorded: bool
) -> None:
    parts: Parts = []
    turn = Turn()
    pipeline = turn.chain(part(parts), place=place, recorded=recorded)
    await stop(turn, lambda: pipeline.run(turn.ctx))
    started = (list(turn.requests), list(turn.tools))
    turn.release.set()
    await asyncio.wait(parts)

    assert (turn.requests, turn.tools) == started == (["reply"], ["quick", "hang"])
    assert turn.ends() == [TaskCancelled] * recorded


async def test_a_part_that_goes_on_after_a_failure_starts_nothing() -> None:
    parts: Parts = []

    async def leave_behind(ctx: Context, next: Next) -> None:
        parts.append(asyncio.ensure_future(next(ctx)))
        await turn.hanging.wait()
        raise ValueError("broken")

    turn = Turn()
    with pytest.raises(ValueError, match="broken"):
        await turn.chain(leave_behind).run(turn.ctx)
    turn.release.set()
    await asyncio.wait(parts)
    assert (turn.requests, turn.tools, turn.ends()) == (["reply"], ["quick", "hang"], [TaskFailed])


@table("recorded", [True, False])
async def test_a_turn_that_was_cancelled_is_not_run_again(recorded: bool) -> None:
    turn = Turn()
    pipeline = turn.chain(recorded=recorded)
    await run_until_timed_out(turn, lambda: pipeline.run(turn.ctx))
    with pytest.raises(ChainError, match="create a new one"):
        await pipeline.run(turn.ctx)
    assert turn.requests == ["reply"]
