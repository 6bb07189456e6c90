"""What a valid transcript is, and that whatever was broken can be mended into one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sophon import Message, ToolCall
from sophon.testing import assert_valid_transcript
from sophon.turn.transcript_validation import (
    LOST_RESULT_TEXT,
    find_transcript_faults,
    is_valid_transcript,
    repair_transcript,
)
from tests.tables import table

IDS = st.sampled_from(["a", "b", "c"])
CALLS = st.lists(st.builds(ToolCall, IDS, st.just("t")), max_size=3)
MESSAGES = st.lists(
    st.builds(
        Message,
        st.sampled_from(["system", "user", "assistant", "tool"]),
        st.sampled_from(["", "x"]),
        CALLS,
        st.one_of(st.none(), IDS),
    ),
    max_size=12,
)


def calls(*ids: str) -> Message:
    return Message("assistant", "", [ToolCall(each, "t") for each in ids])


def result(call_id: str, text: str = "ok") -> Message:
    return Message("tool", text, tool_call_id=call_id)


USER, SYSTEM = Message("user", "u"), Message("system", "s")


@table(
    ("messages", "fault"),
    [
        ([USER, calls("a"), result("a")], None),
        ([SYSTEM, SYSTEM, USER], None),
        ([USER, calls("a", "b"), result("b"), result("a"), Message("assistant", "x")], None),
        ([USER, calls("a"), result("a"), calls("a"), result("a")], None),
        ([SYSTEM], "no user message"),
        ([USER, calls("a")], "ends before the result of t ('a')"),
        ([USER, result("a")], "is a result for 'a', and no open call has this id"),
        ([USER, calls("a"), result("a"), result("a")], "is a result for 'a'"),
        ([USER, calls("a"), USER], "comes before the result of t ('a')"),
        ([USER, calls("a", "a"), result("a")], "two calls with one id"),
        ([Message("user", "u", [ToolCall("a", "t")]), result("a")], "has tool calls and role 'user'"),
        ([USER, SYSTEM], "is a system message after other messages"),
    ],
)
def test_each_fault_is_named(messages: list[Message], fault: str | None) -> None:
    found = find_transcript_faults(messages)
    assert (fault is None) == (not found)
    assert fault is None or any(fault in line for line in found)


def test_the_assertion_of_the_test_kit_tells_all_faults() -> None:
    with pytest.raises(AssertionError, match=r"(?s)after other messages.*no user message"):
        assert_valid_transcript([calls(), SYSTEM])


@table(
    ("broken", "mended"),
    [
        ([USER, calls("a"), USER], [USER, calls("a"), result("a", LOST_RESULT_TEXT), USER]),
        ([USER, calls("a"), USER, result("a", "late")], [USER, calls("a"), result("a", "late"), USER]),
        ([USER, result("x"), calls("a"), result("a"), result("a", "again")], [USER, calls("a"), result("a")]),
        (
            [calls("a"), result("a", "1"), calls("a"), result("a", "2")],
            [calls("a"), result("a", "1"), calls("a"), result("a", "2")],
        ),
        ([calls("a"), calls("a"), result("a")], [calls("a"), result("a", LOST_RESULT_TEXT), calls("a"), result("a")]),
        ([calls("a", "b"), result("b"), result("a")], [calls("a", "b"), result("a"), result("b")]),
        ([calls("a", "a"), result("a")], [calls("a"), result("a")]),
        ([Message("user", "u", [ToolCall("a", "t")]), result("a")], [USER]),
        ([SYSTEM, USER, SYSTEM], [SYSTEM, USER, Message("user", "s", origin="hint")]),
    ],
)
def test_what_is_broken_is_mended_with_the_least_change(broken: list[Message], mended: list[Message]) -> None:
    assert repair_transcript(broken) == mended


@given(MESSAGES)
def test_a_mended_transcript_with_a_user_message_is_valid(messages: list[Message]) -> None:
    assert find_transcript_faults(repair_transcript([USER, *messages])) == []
    assert find_transcript_faults([*repair_transcript(messages), USER]) == []


@given(MESSAGES)
def test_mending_twice_changes_nothing_more(messages: list[Message]) -> None:
    mended = repair_transcript(messages)
    assert repair_transcript(mended) == mended


@given(MESSAGES)
def test_nothing_that_was_said_is_lost(messages: list[Message]) -> None:
    said = [message.content for message in messages if message.role != "tool"]
    assert [message.content for message in repair_transcript(messages) if message.role != "tool"] == said


@given(MESSAGES)
def test_sound_is_what_has_no_faults(messages: list[Message]) -> None:
    others = [fault for fault in find_transcript_faults(messages) if fault != "there is no user message"]
    assert is_valid_transcript(messages) == (not others)


@given(MESSAGES, MESSAGES)
def test_a_sound_beginning_need_not_be_looked_at_again(first: list[Message], more: list[Message]) -> None:
    beginning = repair_transcript(first)
    whole = [*beginning, *more]
    assert is_valid_transcript(whole, len(beginning)) == is_valid_transcript(whole)
    assert is_valid_transcript([*beginning, *repair_transcript(whole, len(beginning))])


@given(MESSAGES)
def test_what_is_valid_is_left_as_it_is_but_for_the_order_of_results(messages: list[Message]) -> None:
    if is_valid_transcript(messages):
        mended = repair_transcript(messages)
        assert len(mended) == len(messages)
        assert all(any(message is other for other in messages) for message in mended)
