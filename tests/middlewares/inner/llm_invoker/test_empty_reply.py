"""A reply with neither text nor calls: asked for again, and said in the end, wherever a reply is asked for."""

from sophon import (
    Context,
    Message,
    ModelRequest,
    ModelResponse,
    Next,
    Pipeline,
    Response,
    Services,
    ToolCall,
    tool,
)
from sophon.events import AgentStatus, StreamChunk, TaskCompleted
from sophon.messages import Usage
from sophon.testing import EventRecorder, FunctionModel, ScriptedModel, assert_valid_transcript
from sophon_middlewares import AgenticLoop, LlmInvoker, PromptToolBridge, SessionEvents, ToolExecution
from sophon_middlewares.chains import twelve
from sophon_middlewares.inner.llm_invoker.reply import (
    EMPTY_REPLY,
    EMPTY_REPLY_RETRIES,
    RETRY_HINT,
    is_empty_reply,
)
from tests.tables import table

CHAIN = Pipeline.compose(SessionEvents(), AgenticLoop(), ToolExecution(), LlmInvoker())
CALL = ToolCall("c", "noop")


@tool
async def noop() -> str:
    """Nothing."""
    return "ok"


@table(
    ("response", "calls_allowed", "empty"),
    [
        (ModelResponse(""), True, True),
        (ModelResponse(" \n\t"), True, True),
        (ModelResponse("\u200b\ufeff\u2060\n\u3164"), True, True),
        (ModelResponse("\u200bx"), True, False),
        (ModelResponse("x"), True, False),
        (ModelResponse("", [CALL]), True, False),
        (ModelResponse("", [CALL]), False, True),
        (ModelResponse("x", [CALL]), False, False),
    ],
)
def test_a_reply_is_empty_without_text_and_without_calls_that_count(
    response: ModelResponse, calls_allowed: bool, empty: bool
) -> None:
    assert is_empty_reply(response, calls_allowed=calls_allowed) is empty


async def test_an_empty_reply_is_asked_for_again_and_every_try_is_counted() -> None:
    empty = ModelResponse(" ", usage=Usage(5, 1))
    with ScriptedModel([empty] * EMPTY_REPLY_RETRIES + [ModelResponse("here", usage=Usage(5, 1))]) as model:
        services = Services(models=model)
        response = await CHAIN.run(services.turn("hi", session_id="s"))

    assert (response.text, response.finish_reason, response.usage.input_tokens) == ("here", "stop", 15)
    assert [m.content for m in await services.history("s")] == ["hi", "here"]
    assert [request.messages[-1] for request in model.requests[1:]] == [RETRY_HINT] * EMPTY_REPLY_RETRIES


async def test_a_reply_that_stays_empty_is_said_and_stored_as_what_it_is(events: EventRecorder) -> None:
    with ScriptedModel([""] * (1 + EMPTY_REPLY_RETRIES)) as model:
        services = Services(models=model, events=events)
        response = await CHAIN.run(services.turn("hi", session_id="s", stream=True))

    assert response.text == (
        "I could not answer: the model gave an empty reply 3 times. Ask again, or choose another model."
    )
    assert (response.finish_reason, response.detail) == ("error", {"reason": EMPTY_REPLY})
    assert [m.content for m in await services.history("s")] == ["hi", response.text]
    assert "".join(chunk.text for chunk in events.of(StreamChunk)) == response.text
    assert [status.status for status in events.of(AgentStatus)].count("retrying") == EMPTY_REPLY_RETRIES
    assert events.of(TaskCompleted)[0].finish_reason == "error"


async def test_an_output_limit_that_left_no_text_is_said_at_once() -> None:
    with ScriptedModel([ModelResponse("", finish_reason="length")]) as model:
        response = await CHAIN.run(Services(models=model).turn("hi"))

    assert "output limit" in response.text


async def test_an_empty_reply_after_tool_results_keeps_the_results() -> None:
    with ScriptedModel([[CALL], "", "done"]) as model:
        services = Services(models=model, tools=[noop])
        response = await CHAIN.run(services.turn("hi", session_id="s"))

    assert response.text == "done"
    assert_valid_transcript(await services.history("s"))


async def test_space_that_was_streamed_before_a_retry_does_not_stay(events: EventRecorder) -> None:
    with ScriptedModel([" \n ", "here"], stream=True) as model:
        await CHAIN.run(Services(models=model, events=events).turn("hi", stream=True))

    last = max(chunk.epoch for chunk in events.of(StreamChunk))
    assert "".join(chunk.text for chunk in events.of(StreamChunk) if chunk.epoch == last) == "here"


async def test_a_model_without_function_calling_is_asked_again_too() -> None:
    chain = Pipeline.compose(PromptToolBridge(), AgenticLoop(), ToolExecution(), LlmInvoker())
    with ScriptedModel(["</tool_call>", "here"], function_calling=False) as model:
        response = await chain.run(Services(models=model, tools=[noop]).turn("hi"))

    assert response.text == "here"


PLAN = '{"goal": "g", "steps": [{"id": "a", "description": "one"}, {"id": "b", "description": "two"}]}'


async def plan_and(request: ModelRequest, *, replies: dict[str, list[str]]) -> str:
    """Plan, then give the replies of each purpose in turn."""
    return PLAN if request.purpose == "plan" else replies[request.purpose].pop(0)


async def test_an_empty_synthesis_is_asked_for_again_and_then_said() -> None:
    for summaries, text in ((["", "all done"], "all done"), ([" "] * 3, "empty reply 3 times")):
        replies = {"step": ["one", "two"], "reply": list(summaries)}
        services = Services(models=FunctionModel(lambda request, given=replies: plan_and(request, replies=given)))
        response = await twelve(services).run(services.turn("go", session_id="s", planning="Always"))
        assert text in response.text
        assert (await services.history("s"))[-1].content == response.text


async def test_a_step_whose_reply_stays_empty_has_failed() -> None:
    replies = {"step": [*["one"], *[""] * 6], "reply": ["summary"]}
    model = FunctionModel(lambda request: plan_and(request, replies=replies))
    services = Services(models=model, settings={"Planning": {"Concurrency": 1}})
    await twelve(services).run(services.turn("go", planning="Always"))

    assert "empty reply" in model.requests[-1].messages[-1].content
    assert replies == {"step": [], "reply": []}


async def test_no_empty_assistant_message_is_stored_whoever_wrote_it() -> None:
    async def silent(ctx: Context, next: Next) -> None:
        ctx.messages.append(Message("assistant", "  "))
        ctx.response = Response("")

    services = Services()
    await Pipeline.compose(SessionEvents(), silent).run(services.turn("hi", session_id="s"))

    assert [m.role for m in await services.history("s")] == ["user"]
