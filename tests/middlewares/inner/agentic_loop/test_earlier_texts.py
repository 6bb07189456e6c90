"""Text that a model writes before a tool call stays in the turn, in its order."""

import asyncio
import json
from typing import Any

import pytest

from sophon import ModelRequest, ModelResponse, Services, ToolCall, tool
from sophon.context import Context
from sophon.errors import ModelError
from sophon.events import Message as MessageAdded
from sophon.events import StreamChunk, StreamCompleted, StreamReset, TaskCancelled, TaskCompleted, TaskFailed
from sophon.testing import EventRecorder, FunctionModel, ScriptedModel
from sophon.tools.tool import Risk
from sophon_middlewares.chains import twelve
from tests.gate import Gate
from tests.tables import table


@tool
async def look() -> str:
    """Look."""
    return "sunny"


@tool(risk=Risk.HIGH)
async def pay() -> str:
    """Pay."""
    return "paid"


def call(name: str = "look") -> list[ToolCall]:
    return [ToolCall("", name)]


SCRIPT = [ModelResponse("Let me look.", call()), ModelResponse("And once more.", call()), "It is sunny."]
WHOLE = "Let me look.\n\nAnd once more.\n\nIt is sunny."


async def run(script: list[Any], events: EventRecorder, **options: Any) -> Any:
    services = Services(models=ScriptedModel(script, stream=options.get("stream", False)), tools=[look], events=events)
    return await twelve(services).run(services.turn("How is it?", session_id="s", stream=bool(options)))


def streamed(events: EventRecorder) -> str:
    chunks = events.of(StreamChunk)
    return "".join(chunk.text for chunk in chunks if chunk.epoch == chunks[-1].epoch)


async def test_the_response_has_the_last_reply_and_all_text_in_order() -> None:
    response = await run(SCRIPT, EventRecorder())
    assert (response.text, response.full_text) == ("It is sunny.", WHOLE)


@table("stream", [True, 1, 3, 1000])
async def test_the_stream_and_the_outcome_hold_all_text_without_a_reset(stream: Any) -> None:
    events = EventRecorder()
    await run(SCRIPT, events, stream=stream)
    assert streamed(events) == events.of(TaskCompleted)[0].text == WHOLE
    assert events.of(StreamReset) == []
    assert [end.length for end in events.of(StreamCompleted)] == [len(WHOLE)]


async def test_each_text_is_announced_before_the_calls_that_follow_it() -> None:
    events = EventRecorder()
    await run(SCRIPT, events)
    order = [
        event.content if isinstance(event, MessageAdded) else "call"
        for event in events.events
        if event.wire_name in ("message", "tool_call_started")
    ]
    assert order == ["How is it?", "Let me look.", "call", "And once more.", "call", "It is sunny."]


async def test_the_history_keeps_every_text_once_at_its_place() -> None:
    services = Services(models=ScriptedModel(list(SCRIPT)), tools=[look])
    await twelve(services).run(services.turn("How is it?", session_id="s"))
    texts = [message.content for message in await services.history("s") if message.role == "assistant"]
    assert texts == ["Let me look.", "And once more.", "It is sunny."]


async def test_a_reply_that_is_replaced_keeps_the_texts_before_it() -> None:
    async def replace_reply(ctx: Context, next: Any) -> None:
        await next(ctx)
        assert ctx.response is not None
        ctx.response.text = "It rains."

    events = EventRecorder()
    services = Services(models=ScriptedModel(list(SCRIPT), stream=True), tools=[look], events=events)
    chain = twelve(services)
    chain = type(chain).compose(*chain[:1], replace_reply, *chain[1:])
    await chain.run(services.turn("How is it?", stream=True))
    assert len(events.of(StreamReset)) == 1
    assert streamed(events) == events.of(TaskCompleted)[0].text == "Let me look.\n\nAnd once more.\n\nIt rains."


async def test_a_failed_turn_says_what_it_had_written() -> None:
    events = EventRecorder()
    with pytest.raises(ModelError):
        await run([SCRIPT[0], ModelError("it broke")], events, stream=True)
    assert events.of(TaskFailed)[0].text == "Let me look."


async def test_a_cancelled_turn_says_what_it_had_written_before_and_after_its_calls() -> None:
    reached = asyncio.Event()

    async def answer(request: ModelRequest) -> ModelResponse:
        if request.messages[-1].role == "user":
            return ModelResponse("Let me look.", call())
        assert request.on_text is not None
        request.on_text("It is")
        reached.set()
        return await asyncio.get_running_loop().create_future()

    events = EventRecorder()
    services = Services(models=FunctionModel(answer, stream=True), tools=[look], events=events)
    task = asyncio.ensure_future(twelve(services).run(services.turn("How is it?", session_id="s", stream=True)))
    await reached.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert events.of(TaskCancelled)[0].text == "Let me look.\n\nIt is"
    records = await services.store.sessions.list_records("s")
    assert [record.data.get("shown") for record in records if record.kind == "cancelled"] == ["It is"]


async def test_a_resumed_turn_remembers_what_was_written_before_the_suspension() -> None:
    model = ScriptedModel([ModelResponse("I shall pay.", call("pay")), "Done."], stream=True)
    services = Services(models=model, tools=[pay], approvals=Gate.suspending())
    ctx = services.turn("Pay", session_id="s", stream=True)
    suspended = await twelve(services).run(ctx)
    assert suspended.full_text == suspended.text
    state = json.loads(json.dumps(ctx.state()))
    response = await twelve(services).run(services.restore(state))
    assert (response.text, response.full_text) == ("Done.", "I shall pay.\n\nDone.")


async def test_a_step_of_a_plan_passes_all_its_text_on_and_is_silent() -> None:
    plan = {"goal": "g", "steps": [{"id": "a", "description": "look"}, {"id": "b", "description": "look again"}]}

    async def answer(request: ModelRequest) -> str | ModelResponse:
        if request.purpose == "plan":
            return json.dumps(plan)
        if request.purpose == "step" and request.messages[-1].role == "user":
            return ModelResponse("First I look.", call())
        return "Seen." if request.purpose == "step" else "All done."

    events, model = EventRecorder(), FunctionModel(answer)
    services = Services(models=model, tools=[look], events=events)
    await twelve(services).run(services.turn("Look twice", planning="Always"))
    assert "First I look.\n\nSeen." in model.requests[-1].messages[-1].content
    assert [event.content for event in events.of(MessageAdded)] == ["Look twice", "All done."]


async def test_a_model_without_function_calling_keeps_its_text_too() -> None:
    block = '<tool_call>{"name": "look", "arguments": {}}</tool_call>'
    events = EventRecorder()
    model = ScriptedModel([f"Let me look.{block}", "It is sunny."], stream=3, function_calling=False)
    services = Services(models=model, tools=[look], events=events)
    response = await twelve(services).run(services.turn("How is it?", stream=True))
    assert streamed(events) == response.full_text == "Let me look.\n\nIt is sunny."


async def test_a_stop_check_stops_a_streaming_call() -> None:
    class Enough(Exception):
        pass

    def stop() -> None:
        if events.of(StreamChunk):
            raise Enough

    events = EventRecorder()
    services = Services(models=ScriptedModel(["one two three"], stream=True), events=events)
    ctx = services.turn("Count", stream=True)
    ctx.stop_check = stop
    with pytest.raises(Enough):
        await twelve(services).run(ctx)
    assert streamed(events) == "one "
