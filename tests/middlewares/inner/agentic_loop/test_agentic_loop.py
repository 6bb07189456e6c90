"""The loop: two kinds of pass by turns, until a reply has no calls or a limit is met."""

import uuid
from collections.abc import Callable
from typing import Any

import pytest

from sophon import (
    Context,
    Message,
    ModelRequest,
    ModelResponse,
    Next,
    Pipeline,
    Response,
    Services,
    Tool,
    ToolCall,
    tool,
)
from sophon.events import LoopWarning, Progress
from sophon.testing import EventRecorder, FunctionModel, ScriptedModel, assert_valid_transcript
from sophon_middlewares import AgenticLoop, LlmInvoker, ToolExecution
from sophon_middlewares.chains import twelve
from sophon_middlewares.inner.agentic_loop.agentic_loop import LoopOptions
from sophon_middlewares.inner.llm_invoker.reply import EMPTY_REPLY_RETRIES
from tests.tables import table


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


@table("limit", [1, 3, 7])
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


@table("wrong", [0, -1, True, False, 2.5, "10"])
def test_a_ceiling_that_is_no_whole_number_from_one_is_refused(wrong: Any) -> None:
    with pytest.raises(ValueError, match="max_iterations"):
        LoopOptions(max_iterations=wrong)


@table(
    ("turn", "loop", "settings", "rounds"),
    [
        (None, None, 4, 4),
        (None, 2, 4, 2),
        (None, 6, 4, 6),
        (2, None, 4, 2),
        (6, None, 4, 6),
        (3, 6, 4, 3),
        (None, 50, 4, 8),
        (8, 2, 4, 8),
    ],
)
async def test_the_ceiling_of_the_turn_then_of_the_agent_rules_up_to_the_hard_limit(
    turn: int | None, loop: int | None, settings: int, rounds: int
) -> None:
    async def answer(request: ModelRequest) -> str | ModelResponse:
        return ModelResponse(tool_calls=[call(len(request.messages))]) if request.tools else "enough"

    limits = {"AgentExecution": {"MaxToolIterations": settings, "MaxToolIterationsHardLimit": 8}}
    chain = Pipeline.compose(AgenticLoop(options=LoopOptions(max_iterations=loop)), ToolExecution(), LlmInvoker())
    ctx = Services(models=FunctionModel(answer), tools=[tick], settings=limits).turn("hi", max_iterations=turn)

    response = await chain.run(ctx)

    assert (ctx.iteration, response.finish_reason) == (rounds, "max_iterations")


async def test_a_ceiling_above_the_hard_limit_is_said(caplog: pytest.LogCaptureFixture) -> None:
    chain = Pipeline.compose(AgenticLoop(options=LoopOptions(max_iterations=501)), ToolExecution(), LlmInvoker())
    with ScriptedModel([[call(1)], "done"]) as model:
        await chain.run(Services(models=model, tools=[tick]).turn("hi"))

    assert "max_iterations is 501; AgentExecution.MaxToolIterationsHardLimit (500) applies" in caplog.text


async def test_a_blank_summing_up_is_asked_for_again() -> None:
    chain = Pipeline.compose(AgenticLoop(options=LoopOptions(max_iterations=1)), ToolExecution(), LlmInvoker())
    with ScriptedModel([[call(1)], " \n", "this far I came"]) as model:
        response = await chain.run(Services(models=model, tools=[tick]).turn("hi"))

    assert (response.text, response.finish_reason) == ("this far I came", "max_iterations")


async def test_a_summing_up_that_stays_blank_is_no_empty_answer() -> None:
    async def stubborn(request: ModelRequest) -> ModelResponse:
        return ModelResponse(tool_calls=[call(len(request.messages))])

    chain = Pipeline.compose(AgenticLoop(options=LoopOptions(max_iterations=2)), ToolExecution(), LlmInvoker())
    model = FunctionModel(stubborn)
    ctx = Services(models=model, tools=[tick]).turn("hi")

    response = await chain.run(ctx)

    assert response.text == "I stopped after 2 rounds of tool calls, and the model gave no summary."
    assert (response.finish_reason, response.detail["iterations"]) == ("max_iterations", 2)
    assert ctx.messages[-1] == Message("assistant", response.text)
    assert len(model.requests) == 2 + 1 + EMPTY_REPLY_RETRIES
    assert_valid_transcript(ctx.messages)


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
    assert response.text == (
        "I stopped because tool calls were repeated: same was called 7 times in a row with the same arguments and the "
        "result did not change, so it was not run again."
    )
    assert [(w.level, w.pattern, w.count) for w in events.of(LoopWarning)] == [
        ("warning", "poll_no_progress", 3),
        ("critical", "poll_no_progress", 5),
        ("critical", "poll_no_progress", 6),
        ("critical", "poll_no_progress", 7),
    ]
    results = [m.content for m in ctx.messages if m.role == "tool"]
    assert [text.startswith("nothing new") for text in results] == [True] * 4 + [False] * 3
    assert [("warning:" in text) for text in results] == [False, False, True, False, False, False, False]
    assert_valid_transcript(ctx.messages)


async def test_a_pair_of_calls_in_turns_without_progress_ends_the_turn() -> None:
    async def back_and_forth(request: ModelRequest) -> ModelResponse:
        rounds = sum(m.role == "assistant" for m in request.messages)
        return ModelResponse(tool_calls=[ToolCall("", "same", {"n": rounds % 2})])

    model = FunctionModel(back_and_forth)
    response = await CHAIN.run(Services(models=model, tools=[same]).turn("hi"))

    assert (response.finish_reason, len(model.requests)) == ("loop_detected", 12)


@table("name", ["missing", "missing{n}"])
async def test_an_unknown_tool_with_changing_arguments_ends_the_turn(name: str) -> None:
    async def guess(request: ModelRequest) -> ModelResponse:
        n = len(request.messages)
        return ModelResponse(tool_calls=[ToolCall("", name.format(n=n), {"n": n})])

    model = FunctionModel(guess)
    ctx = Services(models=model, tools=[same]).turn("hi")
    response = await CHAIN.run(ctx)

    assert (response.finish_reason, len(model.requests)) == ("loop_detected", 7)
    assert all("there is no tool" in m.content for m in ctx.messages if m.role == "tool")


async def ask_to_send(request: ModelRequest) -> str | ModelResponse:
    return ModelResponse(tool_calls=[ToolCall("", "send", {"to": "ada"})]) if request.tools else "done"


def numbered_sender(sent: list[str], **traits: Any) -> Tool:
    @tool(name="send", **traits)
    async def send(to: str) -> str:
        """Send a message."""
        sent.append(to)
        return f"sent to {to} as message {uuid.UUID(int=len(sent))} at 2026-11-22T08:00:{len(sent):02}Z"

    return send


async def test_results_that_differ_in_an_id_and_a_time_are_no_progress() -> None:
    sent: list[str] = []
    response = await CHAIN.run(Services(models=FunctionModel(ask_to_send), tools=[numbered_sender(sent)]).turn("hi"))

    assert (response.finish_reason, len(sent)) == ("loop_detected", 4)


async def test_for_a_tool_that_polls_each_changed_character_is_progress() -> None:
    sent: list[str] = []
    services = Services(models=FunctionModel(ask_to_send), tools=[numbered_sender(sent, polls=True)])
    response = await CHAIN.run(services.turn("hi", max_iterations=40))

    assert (response.finish_reason, len(sent)) == ("max_iterations", 40)


async def test_a_fence_is_no_progress() -> None:
    @tool(external=True)
    async def page(n: int) -> str:
        """A page that does not change."""
        return "nothing new"

    async def reload(request: ModelRequest) -> ModelResponse:
        return ModelResponse(tool_calls=[ToolCall("", "page", {"n": 1})])

    model = FunctionModel(reload)
    response = await CHAIN.run(Services(models=model, tools=[page]).turn("hi"))

    assert (response.finish_reason, len(model.requests)) == ("loop_detected", 7)


def _raise_value_error(text: str) -> str:
    raise ValueError("no such part")


def _return_object(text: str) -> Any:
    return object()


@pytest.mark.parametrize("broken", [_raise_value_error, _return_object])
async def test_a_normalisation_that_fails_costs_the_detection_and_not_the_turn(
    broken: Callable[[str], str], caplog: pytest.LogCaptureFixture
) -> None:
    send = [ToolCall("c", "send", {"to": "ada"})]
    with ScriptedModel([send, send, "done"]) as model:
        services = Services(models=model, tools=[numbered_sender([], normalize_result=broken)])
        assert (await CHAIN.run(services.turn("hi"))).text == "done"
    assert "normalize_result of tool send failed" in caplog.text


async def test_a_tool_with_a_cap_runs_no_more_often_in_a_turn() -> None:
    sent: list[str] = []
    sender = numbered_sender(sent, max_calls_per_turn=2)
    ctx = Services(models=FunctionModel(ask_to_send), tools=[sender]).turn("hi")
    response = await CHAIN.run(ctx)

    assert (response.finish_reason, len(sent)) == ("loop_detected", 2)
    results = [m.content for m in ctx.messages if m.role == "tool"]
    assert results[2] == (
        "error: send may be called 2 times in a turn, 0 are left, and this reply asks for 1; none of them was run. "
        "Do not call it again in this turn"
    )


async def test_a_reply_over_a_tools_cap_runs_none_of_its_calls_and_all_others() -> None:
    sent: list[str] = []
    calls = [ToolCall(f"s{n}", "send", {"to": str(n)}) for n in range(3)]
    with ScriptedModel([[*calls, call(1)], calls[:2], "done"]) as model:
        ctx = Services(models=model, tools=[numbered_sender(sent, max_calls_per_turn=2), tick]).turn("hi")
        response = await CHAIN.run(ctx)

    assert (response.text, sent) == ("done", ["0", "1"])
    results = [m.content for m in ctx.messages if m.role == "tool"]
    assert ["none of them was run" in text for text in results] == [True, True, True, False, False, False]
    assert_valid_transcript(ctx.messages)


async def test_the_steps_of_a_plan_share_a_tools_cap() -> None:
    sent: list[str] = []
    plan = '{"goal": "g", "steps": [{"id": "a", "description": "one"}, {"id": "b", "description": "two"}]}'

    async def answer(request: ModelRequest) -> str | ModelResponse:
        if request.purpose == "plan":
            return plan
        return "done" if request.messages[-1].role == "tool" or not request.tools else await ask_to_send(request)

    services = Services(
        models=FunctionModel(answer),
        tools=[numbered_sender(sent, max_calls_per_turn=1)],
        settings={"Planning": {"Mode": "Always"}},
    )
    await twelve(services).run(services.turn("send two"))

    assert len(sent) == 1


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


async def test_a_replacement_that_settles_nothing_says_what_is_missing() -> None:
    class Idle:
        provides = ("ToolExecution",)

        async def __call__(self, ctx: Context, next: Next, /) -> None:
            await next(ctx)

    with ScriptedModel([[call(1)]]) as model:
        ctx = Services(models=model, tools=[tick]).turn("hi")
        with pytest.raises(Exception, match=r"put ToolExecution\(\) in front"):
            await Pipeline.compose(AgenticLoop(), Idle(), LlmInvoker()).run(ctx)
