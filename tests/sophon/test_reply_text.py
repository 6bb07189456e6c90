"""The texts that a model wrote before its tool calls."""

from sophon.messages import Message, ToolCall, collect_earlier_texts

CALL = [ToolCall("c", "look")]


def test_the_texts_before_calls_of_the_last_turn_are_collected_in_order() -> None:
    messages = [
        Message("user", "before"),
        Message("assistant", "of another turn", CALL),
        Message("tool", "seen", tool_call_id="c"),
        Message("user", "now"),
        Message("assistant", "first", CALL),
        Message("tool", "seen", tool_call_id="c"),
        Message("user", "go on", origin="hint"),
        Message("assistant", " \n", CALL),
        Message("tool", "seen", tool_call_id="c"),
        Message("assistant", "second", CALL),
        Message("tool", "seen", tool_call_id="c"),
        Message("assistant", "the end"),
    ]
    assert collect_earlier_texts(messages) == ["first", "second"]
