"""Turn repair: user and assistant alternate, and no message is blank."""

from hypothesis import given
from hypothesis import strategies as st

from sophon.messages import Message, ToolCall
from sophon.models.providers.openai_turn_alternation import merge_messages
from tests.tables import table

CALL = Message("assistant", "", [ToolCall("c", "look")])
SYSTEM = Message("system", "s")
RESULT = Message("tool", "seen", tool_call_id="c")


def user(text: str, origin: str = "") -> Message:
    return Message("user", text, origin=origin)


def reply(text: str) -> Message:
    return Message("assistant", text)


@table(
    ("given", "merged"),
    [
        ([user("a"), user("b"), reply("c")], [user("a\n\nb"), reply("c")]),
        ([user("a"), reply(""), user("b")], [user("a\n\nb")]),
        ([user("a"), reply(" \n"), reply("b")], [user("a"), reply("b")]),
        ([user("a"), reply("b"), reply("c")], [user("a"), reply("b\n\nc")]),
        ([user("a", "hint"), user("b")], [user("a\n\nb")]),
        ([user("a", "hint"), user("b", "hint")], [user("a\n\nb", "hint")]),
        (
            [user("a"), CALL, RESULT, reply("b"), user("c"), user("d")],
            [user("a"), CALL, RESULT, reply("b"), user("c\n\nd")],
        ),
        (
            [Message("system", "s"), Message("system", "t"), user("a")],
            [Message("system", "s"), Message("system", "t"), user("a")],
        ),
    ],
)
def test_consecutive_messages_of_one_author_become_one(given: list[Message], merged: list[Message]) -> None:
    assert list(merge_messages(given)) == merged


def test_a_history_without_faults_is_not_copied() -> None:
    messages = [Message("system", "s"), user("a"), CALL, RESULT, reply("b"), user("c")]
    assert merge_messages(messages) is messages


MESSAGES = [user("a"), user("a", "hint"), reply("b"), reply(" "), CALL, RESULT, Message("system", "s")]


@given(st.lists(st.sampled_from(MESSAGES), max_size=8))
def test_what_was_merged_is_not_merged_again(messages: list[Message]) -> None:
    merged = merge_messages(messages)
    assert merge_messages(merged) is merged
    if len(merged) == len(messages):
        assert list(merged) == messages
