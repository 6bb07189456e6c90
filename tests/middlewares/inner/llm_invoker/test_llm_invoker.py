"""The terminal: one request, one reply, a transcript that any provider accepts."""

import pytest

from sophon import Context, Message, ModelRequest, ModelResponse, Next, Pipeline, Services, ToolCall, tool
from sophon.errors import ChainError
from sophon.events import StreamChunk, StreamReset
from sophon.testing import EventRecorder, FunctionModel, ScriptedModel, assert_valid_transcript
from sophon_middlewares import AgenticLoop, LlmInvoker, ToolExecution
from sophon_middlewares.chains import clawdesk
from tests.tables import table

ALONE = Pipeline.compose(LlmInvoker())


@tool
async def noop() -> str:
    """Nothing."""
    return "ok"


async def test_the_request_is_as_published() -> None:
    model = FunctionModel(lambda request: _answer("hi"))
    await ALONE.run(Services(models=model, tools=[noop]).turn("hello"))

    request = model.requests[0]
    assert (request.max_tokens, request.tool_choice, request.purpose) == (4096, "auto", "reply")
    assert [m.content for m in request.messages] == ["hello"]
    assert "noop" in [t.name for t in request.tools]


@table(("reserve", "tokens"), [(None, 8192), (2000, 4096), (20_000, 20_000)])
async def test_the_answer_may_have_what_the_window_keeps_for_it(reserve: int | None, tokens: int) -> None:
    model = FunctionModel(lambda request: _answer("hi"), context_window=100_000)
    settings = {} if reserve is None else {"ContextWindow": {"Reserve": reserve}}
    services = Services(models=model, settings=settings)
    await clawdesk(services).run(services.turn("hi"))
    assert model.requests[0].max_tokens == tokens


async def _answer(text: str) -> str:
    return text


async def test_a_request_that_a_model_keeps_does_not_change_later() -> None:
    with ScriptedModel([[ToolCall("c", "noop")], "done"]) as model:
        ctx = Services(models=model, tools=[noop]).turn("hi")
        await Pipeline.compose(AgenticLoop(), ToolExecution(), LlmInvoker()).run(ctx)

    assert [len(request.messages) for request in model.requests] == [1, 3]


async def test_a_broken_transcript_is_repaired_before_the_model_sees_it() -> None:
    async def answer(request: ModelRequest) -> str:
        assert_valid_transcript(request.messages)
        return "done"

    ctx = Services(models=FunctionModel(answer)).turn("go on")
    ctx.messages[:0] = [Message("user", "before"), Message("assistant", "", [ToolCall("a", "x")])]

    assert (await ALONE.run(ctx)).text == "done"


@table("ids", [("", ""), ("same", "same"), ("same", "")])
async def test_calls_without_an_id_of_their_own_are_given_one(ids: tuple[str, str]) -> None:
    @tool
    async def numbered(n: int) -> str:
        """A number."""
        return f"number {n}"

    both = [ToolCall(each, "numbered", {"n": n}) for n, each in enumerate(ids)]
    with ScriptedModel([both, [ToolCall(ids[0], "numbered", {"n": 2})], "done"]) as model:
        ctx = Services(models=model, tools=[numbered]).turn("hi")
        await Pipeline.compose(AgenticLoop(), ToolExecution(), LlmInvoker()).run(ctx)

    used = [call.id for message in ctx.messages for call in message.tool_calls]
    assert len(used) == len(set(used)) == 3
    assert all(used)
    assert [m.content for m in ctx.messages if m.role == "tool"] == ["number 0", "number 1", "number 2"]


async def test_a_call_that_a_reply_repeats_under_the_same_id_runs_once() -> None:
    ran: list[int] = []

    @tool
    async def send(n: int) -> str:
        """Send."""
        ran.append(n)
        return "sent"

    same = ToolCall("same", "send", {"n": 1})
    replies = [[same, same, ToolCall("other", "send", {"n": 1}), ToolCall("", "send", {"n": 1})], [same], "done"]
    with ScriptedModel(replies) as model:
        ctx = Services(models=model, tools=[send]).turn("hi")
        await Pipeline.compose(AgenticLoop(), ToolExecution(), LlmInvoker()).run(ctx)

    assert ran == [1] * 4
    assert [m.content.partition("\n")[0] for m in ctx.messages if m.role == "tool"] == ["sent"] * 5
    assert_valid_transcript(ctx.messages)


async def test_a_streaming_turn_is_heard_piece_by_piece(events: EventRecorder) -> None:
    with ScriptedModel(["one two three"], stream=True) as model:
        response = await ALONE.run(Services(models=model, events=events).turn("hi", stream=True))

    assert [chunk.text for chunk in events.of(StreamChunk)] == ["one ", "two ", "three"]
    assert response.text == "one two three"


async def test_a_turn_that_does_not_stream_is_silent(events: EventRecorder) -> None:
    with ScriptedModel(["one two"], stream=True) as model:
        await ALONE.run(Services(models=model, events=events).turn("hi"))

    assert events.of(StreamChunk) == []


async def test_a_reply_that_is_begun_again_after_visible_text_takes_the_place_of_the_first(
    events: EventRecorder,
) -> None:
    async def twice(ctx: Context, next: Next) -> None:
        await next(ctx)
        await next(ctx)

    with ScriptedModel(["a first try", "a second one"], stream=True) as model:
        services = Services(models=model, events=events)
        await Pipeline.compose(twice, LlmInvoker()).run(services.turn("hi", stream=True))

    assert [reset.epoch for reset in events.of(StreamReset)] == [2]
    assert "".join(chunk.text for chunk in events.of(StreamChunk) if chunk.epoch == 2) == "a second one"


async def test_the_replies_of_a_loop_follow_each_other_without_a_reset(events: EventRecorder) -> None:
    script = [ModelResponse("let me look", tool_calls=[ToolCall("c", "noop")]), "there it is"]
    with ScriptedModel(script, stream=True) as model:
        services = Services(models=model, tools=[noop], events=events)
        await Pipeline.compose(AgenticLoop(), ToolExecution(), LlmInvoker()).run(services.turn("hi", stream=True))

    assert events.of(StreamReset) == []
    assert "".join(chunk.text for chunk in events.of(StreamChunk)) == "let me look\n\nthere it is"


async def test_it_is_never_reached_in_a_settling_pass() -> None:
    ctx = Services(models=ScriptedModel([])).turn("hi")
    ctx.settling = True

    with pytest.raises(ChainError, match="ToolExecution"):
        await ALONE.run(ctx)


async def test_a_length_that_ran_out_is_told() -> None:
    with ScriptedModel([ModelResponse("and then", finish_reason="length")]) as model:
        response = await ALONE.run(Services(models=model).turn("hi"))

    assert response.finish_reason == "length"
