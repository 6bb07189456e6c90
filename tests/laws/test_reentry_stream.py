"""Streaming under re-entry: the chunks of the last epoch are the text of the turn, whatever was made again."""

from sophon import Context, Next, Pipeline, Services, ToolCall, tool
from sophon.events import Message, StreamChunk, StreamReset
from sophon.models.model import ModelResponse
from sophon.testing import EventRecorder, ScriptedModel
from sophon_middlewares import AgenticLoop, LlmInvoker, ToolExecution
from tests.tables import table


@tool
async def look() -> str:
    """Look."""
    return "sunny"


def said(text: str) -> ModelResponse:
    return ModelResponse(text, [ToolCall("c", "look")])


@table("repeats", [0, 1, 2])
async def test_a_reply_with_text_and_calls_that_is_made_again_is_streamed_anew(repeats: int) -> None:
    tries = 0

    async def again(ctx: Context, next: Next) -> None:
        nonlocal tries
        await next(ctx)
        while not ctx.settling and tries < repeats:
            tries += 1
            await next(ctx)

    events = EventRecorder()
    replies = [said(f"Try {number}.") for number in range(repeats + 1)]
    with ScriptedModel([*replies, "It is sunny."], stream=True) as model:
        services = Services(models=model, tools=[look], events=events)
        ctx = services.turn("Weather?", stream=True)
        response = await Pipeline.compose(AgenticLoop(), again, ToolExecution(), LlmInvoker()).run(ctx)

    assert response.full_text == f"Try {repeats}.\n\nIt is sunny."
    shown = "".join(each.text for each in events.of(StreamChunk) if each.epoch == ctx.epoch)
    assert shown == response.full_text
    assert len(events.of(StreamReset)) == repeats
    assert {each.content for each in events.of(Message)} >= {f"Try {repeats}."}
    assert len({each.message_id for each in events.of(Message)}) == 1
