"""Design 4.1: what a session remembers, whatever became of its turns."""

import asyncio
from typing import Any

import anyio
import pytest

from sophon import ModelRequest, ModelResponse, Services, SophonError, ToolCall, tool
from sophon.errors import InputError, ModelError
from sophon.events import TaskCancelled, TaskCompleted, TaskFailed, TaskStarted
from sophon.testing import EventRecorder, FunctionModel, ScriptedModel, VirtualClock, assert_valid_transcript
from sophon_middlewares.chains import twelve
from tests.loop_time import LoopTime


@tool
async def look(n: int = 0) -> str:
    """Look."""
    return "seen"


async def roles(services: Services, session: str = "s") -> list[str]:
    history = await services.history(session)
    assert_valid_transcript(history)
    return [m.role for m in history]


async def test_history_comes_in_front_of_the_message() -> None:
    model = ScriptedModel(["one", [ToolCall("1", "look")], "two", "three"])
    services = Services(models=model, tools=[look], instructions="Be kind.")
    pipeline = twelve(services)
    for text in ("a", "b", "c"):
        await pipeline.run(services.turn(text, session_id="s"))
    assert [m.role for m in model.requests[-1].messages] == [
        "system", "user", "assistant", "user", "assistant", "tool", "assistant", "user",
    ]  # fmt: skip
    assert await roles(services) == ["user", "assistant", "user", "assistant", "tool", "assistant", "user", "assistant"]


async def test_sessions_see_nothing_of_each_other_and_a_turn_without_one_begins_a_new_one() -> None:
    model = FunctionModel(lambda r: _say(f"{sum(m.role == 'user' for m in r.messages)}"))
    services = Services(models=model)
    pipeline = twelve(services)
    ids = ["a", "b", "a", None, None, "b", "a"]
    got = [(await pipeline.run(services.turn("hi", session_id=each))).text for each in ids]
    assert got == ["1", "1", "2", "1", "1", "2", "3"]
    assert await services.history("nobody") == []


async def _say(text: str) -> str:
    return text


async def test_the_user_message_is_recorded_before_anything_else() -> None:
    seen: list[list[str]] = []

    async def answer(request: ModelRequest) -> str:
        seen.append([m.content for m in await services.history("s")])
        return "ok"

    services = Services(models=FunctionModel(answer))
    await twelve(services).run(services.turn("hi", session_id="s"))
    assert seen == [["hi"]]


@pytest.mark.parametrize("error", [ModelError("out"), AssertionError("mine"), ValueError("bug"), KeyError("k")])
async def test_a_failure_leaves_its_record_and_the_session_goes_on(error: Exception) -> None:
    events = EventRecorder()
    model = ScriptedModel([[ToolCall("1", "look")], error, "back again"])
    services = Services(models=model, tools=[look], events=events, clock=VirtualClock())
    pipeline = twelve(services)
    with pytest.raises((SophonError, AssertionError)):
        await pipeline.run(services.turn("hi", session_id="s"))
    assert (await roles(services))[:3] == ["user", "assistant", "tool"]
    (failed,) = events.of(TaskFailed)
    assert set(failed.error) == {"code", "message", "id"}
    assert (await pipeline.run(services.turn("again", session_id="s"))).text == "back again"
    assert_valid_transcript(model.requests[-1].messages)
    assert len(events.of(TaskStarted)) == 2
    assert len(events.of(TaskCompleted)) == 1


@pytest.mark.parametrize("where", ["model", "tool", "parallel"])
@pytest.mark.parametrize("how", ["task", "anyio", "timeout"])
async def test_a_cancellation_leaves_its_record_and_no_task(where: str, how: str) -> None:
    reached = asyncio.Event()

    @tool
    async def hang(n: int = 0) -> str:
        """Hang."""
        reached.set()
        return await asyncio.get_running_loop().create_future()

    async def answer(request: ModelRequest) -> ModelResponse | str:
        if where == "model":
            reached.set()
            await asyncio.get_running_loop().create_future()
        count = 3 if where == "parallel" else 1
        return ModelResponse("wait", [ToolCall(str(n), "hang", {"n": n}) for n in range(count)])

    events = EventRecorder()
    services = Services(models=FunctionModel(answer), tools=[hang], events=events)
    pipeline = twelve(services)
    before = asyncio.all_tasks()
    ctx = services.turn("hi", session_id="s")
    if how == "task":
        task = asyncio.ensure_future(pipeline.run(ctx))
        await reached.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    elif how == "timeout":
        with LoopTime() as time:
            async with asyncio.TaskGroup() as group:
                group.create_task(time.advance_after(reached, 60))
                with pytest.raises(TimeoutError):
                    async with asyncio.timeout(60):
                        await pipeline.run(ctx)
    else:
        with LoopTime() as time, anyio.move_on_after(60) as scope:
            async with asyncio.TaskGroup() as group:
                group.create_task(time.advance_after(reached, 60))
                await pipeline.run(ctx)
        assert scope.cancelled_caught
    assert asyncio.all_tasks() == before
    assert len(events.of(TaskCancelled)) == 1
    assert events.events[-1] is events.of(TaskCancelled)[0]
    assert await services.store.usage.reserved() == 0
    got = await roles(services)
    assert got == (
        ["user"] if where == "model" else ["user", "assistant", *["tool"] * (3 if where == "parallel" else 1)]
    )


@pytest.mark.parametrize("text", ["", " ", "\n\t"])
def test_an_empty_message_is_one_clear_line(text: str) -> None:
    with pytest.raises(InputError, match="empty"):
        Services().turn(text)


def test_an_unknown_planning_mode_or_model_or_setting_is_one_clear_line() -> None:
    with pytest.raises(InputError, match="Sometimes"):
        Services().turn("hi", planning="Sometimes")
    with pytest.raises(SophonError, match="gpt-99"):
        Services().turn("hi", model="gpt-99")
    with pytest.raises(SophonError, match="MaxToolIterations"):
        Services(settings={"AgentExecution": {"MaxToolIteration": 3}})
    with pytest.raises(SophonError, match=r"(?s)Planing.*Topp|Topp.*Planing"):
        Services(settings={"Planing": {}, "ToolFilter": {"Topp": 3}})


async def test_a_broken_listener_breaks_nothing() -> None:
    class Broken:
        def emit(self, event: Any) -> None:
            raise RuntimeError("deaf")

    services = Services(models=ScriptedModel(["ok"], stream=1), events=Broken())
    assert (await twelve(services).run(services.turn("hi", stream=True))).text == "ok"


async def test_turns_of_one_session_at_once_leave_a_valid_history() -> None:
    async def answer(request: ModelRequest) -> ModelResponse | str:
        assert_valid_transcript(request.messages)
        await asyncio.sleep(0)
        if request.messages[-1].role == "tool":
            return "done"
        return ModelResponse(tool_calls=[ToolCall("1", "look"), ToolCall("2", "look", {"n": 1})])

    services = Services(models=FunctionModel(answer), tools=[look])
    pipeline = twelve(services)
    await asyncio.gather(*(pipeline.run(services.turn(f"t{n}", session_id="s")) for n in range(20)))
    await pipeline.run(services.turn("last", session_id="s"))
    history = await services.history("s")
    assert {m.content for m in history if m.role == "user"} == {*(f"t{n}" for n in range(20)), "last"}


async def test_a_second_run_of_a_context_that_has_ended_does_not_record_the_message_twice() -> None:
    services = Services(models=ScriptedModel(["one", "two"]))
    ctx = services.turn("hi", session_id="s")
    pipeline = twelve(services)
    await pipeline.run(ctx)
    history = await services.history("s")
    assert [m.content for m in history] == ["hi", "one"]


async def test_the_offline_model_answers_the_bullets() -> None:
    from sophon import Decision
    from sophon.events import PlanStepChanged, ToolCallStarted

    asked: list[Any] = []

    class Gate:
        async def request(self, request: Any) -> Decision:
            asked.append(request)
            return Decision.approve() if request.kind == "plan" else Decision.reject("no shell today")

    events = EventRecorder()
    services = Services(approvals=Gate(), events=events, clock=VirtualClock())
    pipeline = twelve(services)
    response = await pipeline.run(services.turn("What is 17 * 23, and what day is it today?", session_id="s"))
    assert "391" in response.text
    assert "Thursday" in response.text
    assert {each.tool for each in events.of(ToolCallStarted)} == {"calculator", "datetime.now"}
    text = (
        "First write down that my cat is called Ada, then look up what you know about cats, and finally summarise both "
        "in three steps"
    )
    response = await pipeline.run(services.turn(text, session_id="s"))
    assert [each.kind for each in asked] == ["plan"]
    assert "Ada" in response.text
    assert {each.status for each in events.of(PlanStepChanged)} == {"running", "completed"}
    response = await pipeline.run(services.turn("Run the command: uname -a", session_id="s"))
    assert asked[-1].tool == "system.execute"
    assert "no shell today" in response.text or "reject" in response.text or "denied" in response.text
    assert_valid_transcript(await services.history("s"))


async def test_the_offline_model_runs_the_command_after_approval() -> None:
    from sophon import Decision

    class Gate:
        async def request(self, request: Any) -> Decision:
            return Decision.approve()

    services = Services(approvals=Gate())
    response = await twelve(services).run(services.turn("Run the command: uname -a"))
    assert "Linux" in response.text
