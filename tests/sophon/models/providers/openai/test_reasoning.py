"""Reading reasoning from providers' messages, and returning it to the model that made it."""

from typing import Any

from sophon.messages import Message, Reasoning, ToolCall
from sophon.models.providers.openai.reasoning import ReasoningAccumulator, fields_to_return
from tests.tables import table

CALLS = [ToolCall("c", "look")]


def accumulate(*deltas: dict[str, Any], is_whole: bool = False) -> ReasoningAccumulator:
    accumulator = ReasoningAccumulator()
    for delta in deltas:
        accumulator.add(delta, is_whole=is_whole)
    return accumulator


@table(
    ("deltas", "text", "fields"),
    [
        ([{"content": "x"}], "", {}),
        ([{"reasoning_content": "h"}, {"reasoning_content": "m"}], "hm", {"reasoning_content": None}),
        ([{"reasoning": "h"}, {"reasoning": "m"}], "hm", {}),
        ([{"reasoning": "hm", "reasoning_content": "hm"}], "hm", {"reasoning_content": None}),
        ([{"reasoning_content": None, "reasoning": ""}], "", {}),
        ([{"reasoning": {"not": "text"}}], "", {}),
        ([{"reasoning_content": "\ud800"}], "\ufffd", {"reasoning_content": None}),
    ],
)
def test_the_text_is_found_in_the_fields_of_the_providers(
    deltas: list[dict[str, Any]], text: str, fields: dict[str, Any]
) -> None:
    accumulator = accumulate(*deltas)
    assert (accumulator.text, accumulator.build_fields()) == (text, fields)


def test_the_pieces_of_signed_blocks_are_put_together() -> None:
    accumulator = accumulate(
        {"thinking_blocks": [{"type": "thinking", "thinking": "one ", "signature": None}]},
        {"thinking_blocks": [{"type": "thinking", "thinking": "two", "signature": ""}]},
        {"thinking_blocks": [{"type": "thinking", "thinking": "", "signature": "s1"}]},
        {"thinking_blocks": [{"type": "redacted_thinking", "data": "x"}]},
        {"thinking_blocks": [{"type": "redacted_thinking", "data": "y"}]},
        {"thinking_blocks": [{"type": "thinking", "thinking": "three", "signature": "s2"}]},
    )
    assert accumulator.build_fields() == {
        "thinking_blocks": [
            {"type": "thinking", "thinking": "one two", "signature": "s1"},
            {"type": "redacted_thinking", "data": "x"},
            {"type": "redacted_thinking", "data": "y"},
            {"type": "thinking", "thinking": "three", "signature": "s2"},
        ]
    }


def test_blocks_of_a_whole_message_are_returned_as_they_came() -> None:
    details = [{"type": "reasoning.text", "text": "a"}, {"type": "reasoning.text", "text": "b"}]
    assert accumulate({"reasoning_details": details}, is_whole=True).build_fields() == {"reasoning_details": details}


def reply(model: str = "p/m", calls: list[ToolCall] = CALLS, **fields: Any) -> Message:
    return Message("assistant", "x", calls, reasoning=Reasoning("hm", model, fields or {"reasoning_content": None}))


HINT = Message("user", "hint", origin="hint")
RESULT = Message("tool", "seen", tool_call_id="c")


@table(
    ("messages", "returned"),
    [
        ([Message("user", "a"), reply(), RESULT], {1: {"reasoning_content": "hm"}}),
        (
            [Message("user", "a"), reply(), RESULT, Message("user", "hint", origin="hint")],
            {1: {"reasoning_content": "hm"}},
        ),
        ([Message("user", "a"), reply(thinking_blocks=[1]), RESULT], {1: {"thinking_blocks": [1]}}),
        ([Message("user", "a"), reply("other/m"), RESULT], {}),
        ([Message("user", "a"), reply("p/other"), RESULT], {}),
        ([Message("user", "a"), reply(calls=[])], {}),
        ([Message("user", "a"), reply(), RESULT, Message("assistant", "b"), Message("user", "c")], {}),
    ],
)
def test_only_the_model_that_reasoned_gets_it_back_and_only_in_the_same_turn(
    messages: list[Message], returned: dict[int, Any]
) -> None:
    assert fields_to_return(messages, "p/m") == returned
