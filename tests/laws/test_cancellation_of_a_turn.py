"""Only a cancellation of the turn is one, and it stays one: whoever raises a CancelledError, or swallows it."""

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import pytest

from sophon import Context, Middleware, ModelRequest, ModelResponse, Next, Pipeline, Response, Services, ToolCall, tool
from sophon.approvals import ApprovalRequest, Decision
from sophon.errors import ChainError, ModelError
from sophon.events import PlanStepChanged, TaskCancelled, TaskCompleted, TaskFailed, TaskStarted, ToolCallCompleted
from sophon.testing import EventRecorder, FunctionModel, ScriptedModel, VirtualClock, assert_valid_transcript
from sophon_middlewares.chains import twelve
from tests.tables import table

PLAN = {"goal": "g", "steps": [{"id": "a", "description": "do a"}, {"id": "b", "description": "do b"}]}


async def cancel_own_task() -> None:
    """Wait for a task that was cancelled: CancelledError, though nobody cancelled the waiting one."""
    task = asyncio.ensure_future(asyncio.Event().wait())
    task.cancel()
    await task


@tool
async def careless() -> str:
    """Cancel a task of its own."""
    await cancel_own_task()
    return "never"


@tool
async def quick() -> str:
    """Return at once."""
    return "quick result"


def ends(events: EventRecorder) -> list[type]:
    return [type(event) for event in events.events if isinstance(event, TaskCompleted | TaskFailed | TaskCancelled)]


def outcomes(events: EventRecorder) -> dict[str, str]:
    return {event.call_id: event.outcome for event in events.of(ToolCallCompleted)}


@table("others", [0, 2])
async def test_a_tool_that_cancels_a_task_of_its_own_has_failed_and_the_turn_goes_on(others: int) -> None:
    events = EventRecorder()
    made = [ToolCall("c", "careless"), *(ToolCall(f"q{number}", "quick") for number in range(others))]
    model = ScriptedModel([made, "done"])
    services = Services(models=model, tools=[careless, quick], events=events, clock=VirtualClock())

    response = await twelve(services).run(services.turn("go", session_id="s"))

    assert response.text == "done"
    results = [m.content for m in model.requests[1].messages if m.role == "tool"]
    assert "careless was cancelled by itself" in results[0]
    assert results[1:] == ["quick result"] * others
    assert outcomes(events) == {"c": "failed", **{f"q{number}": "completed" for number in range(others)}}
    assert ends(events) == [TaskCompleted]


async def test_a_tool_that_cancels_a_task_of_its_own_in_a_step_leaves_the_other_steps_alone() -> None:
    async def answer(request: ModelRequest) -> str | ModelResponse:
        if request.purpose == "plan":
            return json.dumps(PLAN)
        if request.messages[-1].role == "tool" or request.purpose == "reply":
            return "done"
        return ModelResponse(
            tool_calls=[ToolCall("c", "careless" if "do a" in request.messages[-1].content else "quick")]
        )

    events = EventRecorder()
    services = Services(models=FunctionModel(answer), tools=[careless, quick], events=events, clock=VirtualClock())

    response = await twelve(services).run(services.turn("go", planning="Always"))

    assert response.text == "done"
    assert [event.status for event in events.of(PlanStepChanged)].count("completed") == 2
    assert ends(events) == [TaskCompleted]


@table("swallow", ["returns", "raises"])
@table("beside", [0, 1])
async def test_a_tool_that_exceeds_its_time_out_has_timed_out_whatever_it_then_does(swallow: str, beside: int) -> None:
    @tool(timeout_seconds=5)
    async def stubborn(ctx: Any) -> str:
        """Ignore its time-out."""
        try:
            await ctx.services.clock.sleep(60)
        except asyncio.CancelledError:
            if swallow == "raises":
                raise ValueError("another error") from None
        return "late"

    events = EventRecorder()
    model = ScriptedModel([[ToolCall("s", "stubborn"), *[ToolCall("q", "quick")] * beside], "done"])
    services = Services(models=model, tools=[stubborn, quick], events=events, clock=VirtualClock())

    await twelve(services).run(services.turn("go"))

    assert outcomes(events)["s"] == "timed_out"
    assert "did not finish within 5 seconds" in model.requests[1].messages[2].content
    assert ends(events) == [TaskCompleted]


async def test_a_time_out_of_the_tools_own_is_its_failure() -> None:
    @tool
    async def impatient(ctx: Any) -> str:
        """Have a time-out of its own."""
        async with ctx.services.clock.timeout(1):
            await ctx.services.clock.sleep(60)
        return "never"

    events = EventRecorder()
    services = Services(models=ScriptedModel([[ToolCall("c", "impatient")], "done"]), tools=[impatient], events=events,
                        clock=VirtualClock())  # fmt: skip
    await twelve(services).run(services.turn("go"))
    assert outcomes(events) == {"c": "failed"}


def in_cancelled_scope(run: Callable[[], Awaitable[Response]], how: str) -> Callable[[], Awaitable[Any]]:
    async def anyio_scope() -> None:
        with anyio.CancelScope() as scope:
            scope.cancel()
            await run()
        assert scope.cancelled_caught
        raise asyncio.CancelledError

    async def own_task() -> None:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await run()

    async def passed_deadline() -> None:
        try:
            async with asyncio.timeout(0):
                await run()
        except TimeoutError:
            raise asyncio.CancelledError from None

    return {"anyio": anyio_scope, "task": own_task, "deadline": passed_deadline}[how]


@table("how", ["anyio", "task", "deadline"])
async def test_in_a_cancelled_scope_no_model_is_called_even_if_nothing_waits(how: str) -> None:
    model = ScriptedModel([])
    services = Services(models=model, clock=VirtualClock())

    task = asyncio.ensure_future(in_cancelled_scope(lambda: twelve(services).run(services.turn("go")), how)())
    await asyncio.wait([task])

    assert task.cancelled()
    assert model.requests == []


@table("how", ["anyio", "task"])
async def test_in_a_scope_that_is_cancelled_by_a_reply_no_tool_runs_even_if_nothing_waits(how: str) -> None:
    ran: list[str] = []
    scope = anyio.CancelScope()

    @tool
    async def effect() -> str:
        """Have an effect."""
        ran.append("effect")
        return "ok"

    async def answer(request: ModelRequest) -> ModelResponse:
        task = asyncio.current_task()
        assert task is not None
        (scope if how == "anyio" else task).cancel()
        return ModelResponse(tool_calls=[ToolCall("c", "effect")])

    events = EventRecorder()
    services = Services(models=FunctionModel(answer), tools=[effect], events=events, clock=VirtualClock())

    async def turn() -> None:
        with scope:
            await twelve(services).run(services.turn("go", session_id="s"))

    await asyncio.wait([asyncio.ensure_future(turn())])

    assert ran == []
    assert ends(events) == [TaskCancelled]
    assert_valid_transcript(await services.history("s"))


async def swallow_with_response(ctx: Context, next: Next) -> None:
    try:
        await next(ctx)
    except asyncio.CancelledError:
        ctx.response = Response("all is well")


async def swallow_with_error(ctx: Context, next: Next) -> None:
    try:
        await next(ctx)
    except asyncio.CancelledError:
        raise ValueError("something else") from None


async def swallow_and_retry(ctx: Context, next: Next) -> None:
    try:
        await next(ctx)
    except asyncio.CancelledError:
        await next(ctx)


SWALLOWING = [swallow_with_response, swallow_with_error, swallow_and_retry]


@table("planning", ["Never", "Always"])
@table("place", range(1, 12))
@table("swallowing", SWALLOWING)
async def test_a_middleware_cannot_turn_a_cancellation_into_anything_else(
    swallowing: Middleware, place: int, planning: str
) -> None:
    hanging = asyncio.Event()
    requests: list[str] = []

    async def answer(request: ModelRequest) -> str | ModelResponse:
        requests.append(request.purpose)
        if request.purpose == "plan":
            return json.dumps(PLAN)
        return ModelResponse(tool_calls=[ToolCall("h", "hang"), ToolCall("q", "quick")])

    @tool
    async def hang() -> str:
        """Hang."""
        hanging.set()
        return await asyncio.get_running_loop().create_future()

    events = EventRecorder()
    services = Services(models=FunctionModel(answer), tools=[hang, quick], events=events, clock=VirtualClock())
    chain = twelve(services)
    pipeline = Pipeline.compose(*chain[:place], swallowing, *chain[place:])
    task = asyncio.ensure_future(pipeline.run(services.turn("go", session_id="s", planning=planning)))
    await hanging.wait()
    for _ in range(5):
        await asyncio.sleep(0)
    before = len(requests)
    task.cancel()
    await asyncio.wait([task])

    assert task.cancelled()
    assert ends(events) == [TaskCancelled]
    assert events.of(TaskCancelled)[0] is events.events[-1]
    assert len(requests) == before
    assert_valid_transcript(await services.history("s"))
    assert await services.store.usage.reserved() == 0


@table("swallowing", SWALLOWING[:2])
async def test_a_chain_without_session_events_ends_as_cancelled_too(swallowing: Middleware) -> None:
    async def hang(ctx: Context, next: Next) -> None:
        await asyncio.Event().wait()

    task = asyncio.ensure_future(Pipeline.compose(swallowing, hang).run(Services().turn("go")))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait([task])
    assert task.cancelled()


@table("place", [1, 6, 7, 8, 9, 11])
@table("planning", ["Never", "Always"])
async def test_a_cancelled_error_that_a_middleware_raises_by_itself_is_a_failure(place: int, planning: str) -> None:
    async def stray(ctx: Context, next: Next) -> None:
        await cancel_own_task()

    async def answer(request: ModelRequest) -> str | ModelResponse:
        if request.purpose == "plan":
            return json.dumps(PLAN)
        return ModelResponse(tool_calls=[ToolCall("a", "quick"), ToolCall("b", "quick")])

    events = EventRecorder()
    services = Services(models=FunctionModel(answer), tools=[quick], events=events, clock=VirtualClock())
    chain = twelve(services)
    pipeline = Pipeline.compose(*chain[:place], stray, *chain[place:])
    with pytest.raises(ChainError, match="cancelled from within"):
        await pipeline.run(services.turn("go", planning=planning))
    assert ends(events) == [TaskFailed]


async def test_a_branch_that_cancels_its_own_task_leaves_no_call_waiting() -> None:
    async def cancelling_itself(ctx: Context, next: Next) -> None:
        task = asyncio.current_task()
        if ctx.settling and task is not None:
            task.cancel()
            await asyncio.sleep(0)
        await next(ctx)

    events = EventRecorder()
    model = ScriptedModel([[ToolCall("a", "quick"), ToolCall("b", "quick")]])
    services = Services(models=model, tools=[quick], events=events, clock=VirtualClock())
    chain = twelve(services)
    with pytest.raises(ChainError, match="the branch of quick was cancelled from within"):
        await Pipeline.compose(*chain[:9], cancelling_itself, *chain[9:]).run(services.turn("go"))
    assert ends(events) == [TaskFailed]


async def test_a_gate_that_is_cancelled_by_itself_leaves_no_call_waiting() -> None:
    class Gate:
        async def request(self, request: ApprovalRequest) -> Decision:
            await cancel_own_task()
            return Decision.approve()

    made = [ToolCall("a", "system.execute", {"command": "ls"}), ToolCall("b", "system.execute", {"command": "ls -a"})]
    events = EventRecorder()
    services = Services(models=ScriptedModel([made]), approvals=Gate(), events=events, clock=VirtualClock())
    with pytest.raises(ChainError, match="cancelled from within"):
        await twelve(services).run(services.turn("use system.execute"))
    assert ends(events) == [TaskFailed]


async def test_a_gate_that_swallows_its_time_out_has_decided_too_late() -> None:
    class Gate:
        async def request(self, request: ApprovalRequest) -> Decision:
            with contextlib.suppress(asyncio.CancelledError):
                await services.clock.sleep(3600)
            return Decision.approve()

    events = EventRecorder()
    model = ScriptedModel([[ToolCall("a", "system.execute", {"command": "ls"})], "done"])
    services = Services(models=model, approvals=Gate(), events=events, clock=VirtualClock())
    await twelve(services).run(services.turn("use system.execute"))
    assert outcomes(events) == {"a": "denied"}


async def test_a_time_out_around_the_rest_of_the_chain_is_a_time_out_and_no_cancellation() -> None:
    async def impatient(ctx: Context, next: Next) -> None:
        try:
            async with ctx.services.clock.timeout(5):
                await next(ctx)
        except TimeoutError:
            ctx.response = Response("that took too long")

    async def slow(request: ModelRequest) -> str:
        await services.clock.sleep(60)
        return "late"

    events = EventRecorder()
    services = Services(models=FunctionModel(slow), events=events, clock=VirtualClock())
    chain = twelve(services)
    response = await Pipeline.compose(*chain[:1], impatient, *chain[1:]).run(services.turn("go"))
    assert response.text == "that took too long"
    assert ends(events) == [TaskCompleted]


async def test_a_turn_in_a_task_that_has_handled_a_cancellation_before_is_an_ordinary_one() -> None:
    async def clean_up() -> str:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            services = Services(models=ScriptedModel(["cleaned up"]))
            return (await twelve(services).run(services.turn("clean up"))).text
        return "never"

    task = asyncio.ensure_future(clean_up())
    await asyncio.sleep(0)
    task.cancel()
    assert await task == "cleaned up"


async def test_a_cancellation_after_the_end_was_recorded_changes_nothing_of_it() -> None:
    class CancellingSink(EventRecorder):
        def emit(self, event: Any) -> None:
            super().emit(event)
            task = asyncio.current_task()
            if isinstance(event, TaskCompleted) and task is not None:
                task.cancel()

    events = CancellingSink()
    services = Services(models=ScriptedModel(["done"]), events=events)
    assert (await twelve(services).run(services.turn("go", session_id="s"))).text == "done"
    task = asyncio.current_task()
    assert task is not None
    task.uncancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.sleep(0)
    assert ends(events) == [TaskCompleted]
    assert len(events.of(TaskStarted)) == 1


async def test_a_models_own_cancellation_ends_no_turn() -> None:
    async def cancelled(request: ModelRequest) -> str:
        await cancel_own_task()
        return "never"

    events = EventRecorder()
    models = [FunctionModel(cancelled, name="first"), ScriptedModel(["from the second"], name="second")]
    services = Services(models=models, events=events, clock=VirtualClock())
    assert (await twelve(services).run(services.turn("go"))).text == "from the second"
    alone = Services(models=FunctionModel(cancelled), events=events, clock=VirtualClock())
    with pytest.raises(ModelError, match="cancelled by the model itself"):
        await twelve(alone).run(alone.turn("go"))
    assert ends(events) == [TaskCompleted, TaskFailed]
