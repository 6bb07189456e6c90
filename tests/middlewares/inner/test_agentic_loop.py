"""The loop: two kinds of pass by turns, until a reply has no calls or a limit is met."""

import pytest

from sophon import Context, ModelRequest, ModelResponse, Next, Pipeline, Response, Services, ToolCall, tool
from sophon.events import LoopWarning, Progress
from sophon.testing import EventRecorder, FunctionModel, ScriptedModel, assert_valid_transcript
from sophon_middlewares import AgenticLoop, LlmInvoker, ToolExecution
from sophon_middlewares.inner.agentic_loop import LoopOptions


@tool
async def tick(n: int = 0) -> str:
    """Say the number back."""
    return f"tick {n}"


@tool
async def same(n: int = 0) -> str:
    """Always the same."""
    return "nothing new"


def call(n: int, name: str = "tick", **arguments: object) -> ToolCall:
    return ToolCall(f"c{n}", name, {"n": n} | arguments)


CHAIN = Pipeline.compose(AgenticLoop(), ToolExecution(), LlmInvoker())


async def test_a_reply_without_calls_ends_the_turn() -> None:
    with ScriptedModel(["hello"]) as model:
        response = await CHAIN.run(Services(models=model).turn("hi"))

    assert (response.text, response.finish_reason) == ("hello", "stop")


async def test_every_reply_with_calls_is_followed_by_another() -> None:
    with ScriptedModel([[call(1)], [call(2)], "done"]) as model:
        ctx = Services(models=model, tools=[tick]).turn("hi")
        response = await CHAIN.run(ctx)

    assert response.text == "done"
    assert [m.role for m in ctx.messages] == ["user", "assistant", "tool", "assistant", "tool", "assistant"]
    assert_valid_transcript(ctx.messages)


async def test_passes_alternate_and_say_which_they_are() -> None:
    seen: list[bool] = []

    async def watch(ctx: Context, next: Next) -> None:
        seen.append(ctx.settling)
        await next(ctx)

    with ScriptedModel([[call(1), call(2)], [call(3)], "done"]) as model:
        chain = Pipeline.compose(AgenticLoop(), watch, ToolExecution(), LlmInvoker())
        await chain.run(Services(models=model, tools=[tick]).turn("hi"))

    assert seen == [False, True, False, True, False]


async def test_a_settling_pass_never_reaches_the_model_even_if_every_call_was_refused() -> None:
    async def refuse_all(ctx: Context, next: Next) -> None:
        if ctx.settling:
            for pending in list(ctx.pending):
                ctx.settle(pending, "no", "denied")
        await next(ctx)

    with ScriptedModel([[call(1), call(2)], "understood"]) as model:
        chain = Pipeline.compose(AgenticLoop(), refuse_all, ToolExecution(), LlmInvoker())
        ctx = Services(models=model, tools=[tick]).turn("hi")
        response = await chain.run(ctx)

    assert response.text == "understood"
    assert [m.content for m in ctx.messages if m.role == "tool"] == ["no", "no"]


async def test_results_stand_in_call_order() -> None:
    with ScriptedModel([[call(3), call(1), call(2)], "done"]) as model:
        ctx = Services(models=model, tools=[tick]).turn("hi")
        await CHAIN.run(ctx)

    assert [m.tool_call_id for m in ctx.messages if m.role == "tool"] == ["c3", "c1", "c2"]


@pytest.mark.parametrize("limit", [1, 3, 7])
async def test_at_the_cap_one_last_reply_without_tools_sums_up(limit: int) -> None:
    async def answer(request: ModelRequest) -> str | ModelResponse:
        if not request.tools:
            return "this is how far I came"
        return ModelResponse(tool_calls=[call(len(request.messages))])

    model = FunctionModel(answer)
    chain = Pipeline.compose(AgenticLoop(options=LoopOptions(max_iterations=limit)), ToolExecution(), LlmInvoker())
    ctx = Services(models=model, tools=[tick]).turn("hi")

    response = await chain.run(ctx)

    assert (response.text, response.finish_reason) == ("this is how far I came", "max_iterations")
    assert len(model.requests) == limit + 1
    assert model.requests[-1].tool_choice == "none"
    assert_valid_transcript(ctx.messages)


async def test_the_hard_limit_holds_whatever_is_asked_for() -> None:
    async def answer(request: ModelRequest) -> str | ModelResponse:
        return ModelResponse(tool_calls=[call(len(request.messages))]) if request.tools else "enough"

    limits = {"AgentExecution": {"MaxToolIterations": 4, "MaxToolIterationsHardLimit": 5}}
    chain = Pipeline.compose(AgenticLoop(options=LoopOptions(max_iterations=50)), ToolExecution(), LlmInvoker())
    ctx = Services(models=FunctionModel(answer), tools=[tick], settings=limits).turn("hi")

    await chain.run(ctx)

    assert ctx.iteration == 5


async def test_a_model_that_calls_on_without_tools_is_not_heard(events: EventRecorder) -> None:
    async def stubborn(request: ModelRequest) -> ModelResponse:
        return ModelResponse("more!", tool_calls=[call(len(request.messages))])

    chain = Pipeline.compose(AgenticLoop(options=LoopOptions(max_iterations=1)), ToolExecution(), LlmInvoker())
    ctx = Services(models=FunctionModel(stubborn), tools=[tick]).turn("hi")

    response = await chain.run(ctx)

    assert (response.tool_calls, response.finish_reason) == ([], "max_iterations")
    assert_valid_transcript(ctx.messages)


async def test_progress_is_told_every_ten_rounds(events: EventRecorder) -> None:
    async def answer(request: ModelRequest) -> str | ModelResponse:
        rounds = len(request.messages) // 2
        return ModelResponse(tool_calls=[call(rounds)]) if rounds < 25 else "done"

    await CHAIN.run(Services(models=FunctionModel(answer), tools=[tick], events=events).turn("hi"))

    assert [(p.iteration, p.tool_calls) for p in events.of(Progress)] == [(10, 10), (20, 20)]


async def always_the_same(request: ModelRequest) -> ModelResponse:
    return ModelResponse(tool_calls=[ToolCall("", "same", {"n": 1})])


async def test_a_model_in_a_circle_is_warned_then_refused_then_stopped(events: EventRecorder) -> None:
    ctx = Services(models=FunctionModel(always_the_same), tools=[same], events=events).turn("hi")

    response = await CHAIN.run(ctx)

    assert response.finish_reason == "loop_detected"
    assert "same" in response.text
    assert [w.level for w in events.of(LoopWarning)] == ["warning", "critical", "critical", "critical"]
    results = [m.content for m in ctx.messages if m.role == "tool"]
    assert [text.startswith("nothing new") for text in results] == [True] * 4 + [False] * 3
    assert [("warning:" in text) for text in results] == [False, False, True, False, False, False, False]
    assert_valid_transcript(ctx.messages)


async def test_an_identical_call_whose_result_changes_is_only_warned_of() -> None:
    count = 0

    @tool(name="same")
    async def changing(n: int = 0) -> str:
        """Never the same."""
        nonlocal count
        count += 1
        return f"line {count}"

    async def poll(request: ModelRequest) -> str | ModelResponse:
        return "done" if count == 30 else await always_the_same(request)

    response = await CHAIN.run(Services(models=FunctionModel(poll), tools=[changing]).turn("hi"))

    assert (response.text, count) == ("done", 30)


async def test_a_middleware_that_sets_a_response_in_a_settling_pass_ends_the_turn() -> None:
    async def halt(ctx: Context, next: Next) -> None:
        await next(ctx)
        if ctx.settling:
            ctx.response = Response("that is enough", "rejected")

    with ScriptedModel([[call(1)]]) as model:
        ctx = Services(models=model, tools=[tick]).turn("hi")
        response = await Pipeline.compose(AgenticLoop(), halt, ToolExecution(), LlmInvoker()).run(ctx)

    assert (response.text, response.finish_reason) == ("that is enough", "rejected")
    assert_valid_transcript(ctx.messages)


async def test_a_chain_without_tool_execution_says_what_is_missing() -> None:
    with ScriptedModel([[call(1)]]) as model:
        ctx = Services(models=model, tools=[tick]).turn("hi")
        with pytest.raises(Exception, match=r"put ToolExecution\(\) in front"):
            await Pipeline.compose(AgenticLoop(), LlmInvoker()).run(ctx)
