"""Reasoning of a reply: events of its own, kept with the message, never part of the text."""

from typing import Any

from sophon import ModelResponse, Services, ToolCall, Usage, tool
from sophon.events import Reasoning as ReasoningAdded
from sophon.events import ReasoningChunk, StreamChunk, TaskCompleted
from sophon.messages import Message, Reasoning
from sophon.models.model import ModelInfo
from sophon.testing import EventRecorder, ScriptedModel
from sophon_middlewares.chains import twelve
from sophon_middlewares.inner.llm_invoker.reply import (
    MAX_KEPT_CHARACTERS,
    MAX_SHOWN_CHARACTERS,
    reasoning_from_response,
    without_provider_fields,
)
from tests.tables import table

FIELDS = {"thinking_blocks": [{"type": "thinking", "thinking": "hm", "signature": "sig"}]}
CALLS = [ToolCall("c", "look")]


@tool
async def look() -> str:
    """Look."""
    return "sunny"


def script() -> list[Any]:
    return [
        ModelResponse("Let me look.", [ToolCall("", "look")], reasoning="I need the weather", reasoning_fields=FIELDS),
        ModelResponse("It is sunny.", reasoning="That is easy", usage=Usage(5, 4, reasoning_tokens=3)),
    ]


async def run(*, stream: bool | int) -> tuple[EventRecorder, ScriptedModel, Any, Services]:
    events, model = EventRecorder(), ScriptedModel(script(), stream=stream)
    services = Services(models=model, tools=[look], events=events)
    response = await twelve(services).run(services.turn("How is it?", session_id="s", stream=bool(stream)))
    return events, model, response, services


async def test_reasoning_is_streamed_apart_from_the_text() -> None:
    events, _, response, _ = await run(stream=True)
    first, second = (event.reasoning_id for event in events.of(ReasoningAdded))
    chunks = events.of(ReasoningChunk)
    assert "".join(chunk.text for chunk in chunks if chunk.reasoning_id == first) == "I need the weather"
    assert "".join(chunk.text for chunk in chunks if chunk.reasoning_id == second) == "That is easy"
    assert [chunk.offset for chunk in chunks[:3]] == [0, 2, 7]
    assert "".join(chunk.text for chunk in events.of(StreamChunk)) == response.full_text
    assert events.of(TaskCompleted)[0].text == "Let me look.\n\nIt is sunny."


async def test_a_turn_that_does_not_stream_announces_its_reasoning() -> None:
    events, *_ = await run(stream=False)
    assert events.of(ReasoningChunk) == []
    assert [event.text for event in events.of(ReasoningAdded)] == ["I need the weather", "That is easy"]


async def test_the_providers_fields_live_for_the_turn_and_its_text_for_good() -> None:
    _, model, response, services = await run(stream=False)
    sent = next(message for message in model.requests[-1].messages if message.tool_calls)
    assert sent.reasoning == Reasoning("I need the weather", "scripted/scripted", FIELDS)
    stored = [message.reasoning for message in await services.history("s") if message.role == "assistant"]
    assert stored == [
        Reasoning("I need the weather", "scripted/scripted"),
        Reasoning("That is easy", "scripted/scripted"),
    ]
    assert response.usage.reasoning_tokens == 3


async def test_reasoning_survives_a_checkpoint() -> None:
    message = Message("assistant", "x", CALLS, reasoning=Reasoning("hm", "p/m", FIELDS))
    assert Message.from_json(message.to_json()) == message
    assert Message.from_json({"role": "assistant", "content": "old"}).reasoning is None


def response(**changes: Any) -> ModelResponse:
    return ModelResponse("x", model=ModelInfo("m", "p"), **changes)


@table(
    ("given", "calls", "kept"),
    [
        (response(), CALLS, None),
        (response(reasoning="hm"), [], Reasoning("hm", "p/m")),
        (response(reasoning="hm", reasoning_fields=FIELDS), [], Reasoning("hm", "p/m")),
        (response(reasoning="hm", reasoning_fields=FIELDS), CALLS, Reasoning("hm", "p/m", FIELDS)),
        (response(reasoning_fields=FIELDS), CALLS, Reasoning("", "p/m", FIELDS)),
    ],
)
def test_fields_are_kept_for_calls_only(given: ModelResponse, calls: list[ToolCall], kept: Reasoning | None) -> None:
    assert reasoning_from_response(given, calls) == kept


def test_reasoning_is_bounded() -> None:
    kept = reasoning_from_response(response(reasoning="x " * MAX_KEPT_CHARACTERS, reasoning_fields=FIELDS), CALLS)
    assert kept is not None
    assert len(kept.text) <= MAX_KEPT_CHARACTERS
    assert kept.fields == {}


async def test_events_of_long_reasoning_are_bounded() -> None:
    events = EventRecorder()
    model = ScriptedModel([ModelResponse("x", reasoning="y " * MAX_SHOWN_CHARACTERS)], stream=5000)
    services = Services(models=model, events=events)
    await twelve(services).run(services.turn("hi", stream=True))
    assert sum(len(chunk.text) for chunk in events.of(ReasoningChunk)) == MAX_SHOWN_CHARACTERS
    assert len(events.of(ReasoningAdded)[0].text) <= MAX_SHOWN_CHARACTERS


def test_a_message_without_fields_is_stored_as_it_is() -> None:
    message = Message("assistant", "x", reasoning=Reasoning("hm", "p/m"))
    assert without_provider_fields(message) is message
