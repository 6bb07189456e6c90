"""Middlewares that do what the contract permits and few would think of, and tools that block."""

import asyncio
import threading
from typing import Any

import pytest

from sophon import (
    Context,
    Decision,
    ModelRequest,
    ModelResponse,
    Next,
    Pipeline,
    Risk,
    Services,
    ToolCall,
    tool,
)
from sophon.errors import ModelError
from sophon.events import StreamChunk, StreamReset, TaskCancelled, ToolCallCompleted
from sophon.testing import EventRecorder, FunctionModel, ScriptedModel, VirtualClock, assert_valid_transcript
from sophon_middlewares.chains import twelve


class Broken(Exception):
    status_code = 500


def with_inside(services: Services, place: int, middleware: Any) -> Pipeline:
    chain = list(twelve(services))
    return Pipeline.compose(*chain[:place], middleware, *chain[place:])


async def again(ctx: Context, next: Next) -> None:
    try:
        await next(ctx)
    except ModelError:
        await next(ctx)


def cut_off(name: str = "m") -> FunctionModel:
    """Breaks in the middle of its first reply."""
    tries: list[int] = []

    async def answer(request: ModelRequest) -> str:
        if request.purpose == "plan":
            return '{"goal": "g", "steps": [{"id": "a", "description": "a"}, {"id": "b", "description": "b"}]}'
        if request.purpose == "step":
            return "done"
        tries.append(1)
        if len(tries) == 1:
            assert request.on_text is not None
            request.on_text("Hello wor")
            raise Broken
        return "Good day"

    return FunctionModel(answer, name=name, stream=True)


@pytest.mark.parametrize("planning", ["Never", "Always"])
async def test_a_reply_that_is_begun_again_after_visible_text_resets_the_stream(planning: str) -> None:
    events = EventRecorder()
    services = Services(models=cut_off(), events=events, clock=VirtualClock())
    pipeline = with_inside(services, 6, again)
    response = await pipeline.run(services.turn("hi", session_id="s", stream=True, planning=planning))
    assert response.text == "Good day"
    stream = [event for event in events.events if isinstance(event, StreamChunk | StreamReset)]
    assert [(event.epoch, getattr(event, "text", None)) for event in stream] == [
        (1, "Hello wor"), (2, None), (2, "Good "), (2, "day"),
    ]  # fmt: skip
    assert [m.content for m in await services.history("s")] == ["hi", "Good day"]


async def test_a_guard_that_refuses_some_calls_of_a_batch() -> None:
    async def guard(ctx: Context, next: Next) -> None:
        for call in list(ctx.pending) if ctx.settling else ():
            if call.arguments.get("expression") == "1/0":
                ctx.settle(call, "error: not that one", "denied")
        await next(ctx)

    calls = [ToolCall(str(n), "calculator", {"expression": text}) for n, text in enumerate(["1+1", "1/0", "2+2"])]
    events = EventRecorder()
    model = ScriptedModel([calls, "done"])
    services = Services(models=model, events=events, clock=VirtualClock())
    for place in (8, 9, 10):
        model = ScriptedModel([calls, "done"])
        services = Services(models=model, clock=VirtualClock())
        await with_inside(services, place, guard).run(services.turn("hi"))
        assert [m.content for m in model.requests[-1].messages if m.role == "tool"] == ["2", "error: not that one", "4"]


async def test_blocking_tools_run_beside_each_other() -> None:
    barrier = threading.Barrier(4)

    @tool
    def meet(n: int) -> str:
        """Meet."""
        barrier.wait(10)
        return "met"

    calls = [ToolCall(str(n), "meet", {"n": n}) for n in range(4)]
    for clock in (None, VirtualClock()):
        model = ScriptedModel([calls, "done"])
        services = Services(models=model, tools=[meet], clock=clock)
        await twelve(services).run(services.turn("go"))
        assert [m.content for m in model.requests[1].messages if m.role == "tool"] == ["met"] * 4


async def test_parallel_blocking_tools_give_the_same_event_log() -> None:
    @tool
    def blocking(n: int) -> str:
        """Block."""
        return f"b{n}"

    @tool
    async def flowing(n: int) -> str:
        """Flow."""
        await asyncio.sleep(0)
        return f"f{n}"

    async def log() -> list[Any]:
        calls = [ToolCall(str(n), "blocking" if n % 2 else "flowing", {"n": n}) for n in range(8)]
        calls.append(ToolCall("time", "datetime.now", {"timezone": "Asia/Tokyo"}))
        events = EventRecorder()
        services = Services(
            models=ScriptedModel([calls, "done"]), tools=[blocking, flowing], events=events, clock=VirtualClock()
        )
        await twelve(services).run(services.turn("go"))
        return [(event.wire_name, event.to_wire()) for event in events.events]

    first = await log()
    for _ in range(20):
        assert await log() == first


async def test_a_cancellation_while_a_person_thinks() -> None:
    asked = asyncio.Event()

    @tool(risk=Risk.HIGH)
    async def grave() -> str:
        """Grave."""
        raise AssertionError("it must not run")

    class Thinking:
        async def request(self, request: Any) -> Decision:
            asked.set()
            return await asyncio.get_running_loop().create_future()

    events = EventRecorder()
    model = ScriptedModel([[ToolCall("1", "grave"), ToolCall("2", "calculator", {"expression": "1"})], "never"])
    services = Services(models=model, tools=[grave], approvals=Thinking(), events=events)
    before = asyncio.all_tasks()
    task = asyncio.ensure_future(twelve(services).run(services.turn("go", session_id="s")))
    await asked.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert asyncio.all_tasks() == before
    assert len(events.of(TaskCancelled)) == 1
    assert_valid_transcript(await services.history("s"))


async def test_a_turn_of_the_same_services_inside_a_tool() -> None:
    holder: list[Any] = []

    @tool
    async def delegate(task: str) -> str:
        """Delegate."""
        services = holder[0]
        return (await twelve(services).run(services.turn(task, session_id="inner"))).text

    async def answer(request: ModelRequest) -> str | ModelResponse:
        if request.messages[-1].content == "outer":
            return ModelResponse(tool_calls=[ToolCall("1", "delegate", {"task": "inner"})])
        return f"answer to {request.messages[-1].content}"

    holder.append(Services(models=FunctionModel(answer), tools=[delegate]))
    response = await twelve(holder[0]).run(holder[0].turn("outer", session_id="outer"))
    assert response.text == "answer to answer to inner"
    assert len(await holder[0].history("inner")) == 2


async def test_outcomes_are_of_the_closed_set() -> None:
    events = EventRecorder()
    calls = [ToolCall("1", "calculator", {"expression": "1"}), ToolCall("2", "nobody"), ToolCall("3", "system.execute",
             {"command": "ls"})]  # fmt: skip
    services = Services(models=ScriptedModel([calls, "done"]), events=events)
    await twelve(services).run(services.turn("use system.execute"))
    assert [each.outcome for each in sorted(events.of(ToolCallCompleted), key=lambda each: each.call_id)] == [
        "completed", "failed", "denied",
    ]  # fmt: skip


async def test_two_models_of_one_name_are_two_candidates() -> None:
    async def broken(request: ModelRequest) -> str:
        raise Broken

    models = [FunctionModel(broken), ScriptedModel(["two"], name="function")]
    services = Services(models=models, clock=VirtualClock())
    assert (await twelve(services).run(services.turn("hi"))).text == "two"
