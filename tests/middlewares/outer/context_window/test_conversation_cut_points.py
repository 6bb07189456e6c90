"""Where a conversation may be cut."""

from hypothesis import given
from hypothesis import strategies as st

from sophon import Message, ToolCall
from sophon.turn.transcript_validation import is_valid_transcript
from sophon_middlewares.outer.context_window.conversation_cut_points import (
    count_leading_system_messages,
    extend_cut,
    find_cut_index,
    find_last_user_message,
    split_rounds,
)
from tests.tables import table

SYSTEM = Message("system", "Be brief.")


def user(text: str = "hello", origin: str = "") -> Message:
    return Message("user", text, origin=origin)


def answer(text: str = "hello yourself") -> Message:
    return Message("assistant", text)


def tools(*ids: str) -> list[Message]:
    calls = [ToolCall(name, "look") for name in ids]
    return [Message("assistant", "", calls), *(Message("tool", "seen", tool_call_id=name) for name in ids)]


def test_a_call_and_all_its_results_are_one_round() -> None:
    messages = [SYSTEM, user(), *tools("a", "b"), answer()]
    assert split_rounds(messages, 1) == [range(1, 2), range(2, 5), range(5, 6)]


@table(
    ("messages", "expected"),
    [
        ([user()] * 10, 6),
        ([user()] * 5, 3),
        ([user()] * 2, 1),
        ([user()], 0),
        ([], 0),
        ([user(), *tools("a", "b", "c"), answer()], 1),
        ([*tools("a", "b", "c"), answer()], 4),
        ([user(), *tools("a", "b", "c")], 1),
        (tools("a", "b", "c"), 0),
    ],
)
def test_the_oldest_sixty_percent_end_between_two_rounds(messages: list[Message], expected: int) -> None:
    assert find_cut_index(messages, 0, 0.6) == expected


def test_system_messages_do_not_count() -> None:
    messages = [SYSTEM, *[user()] * 10]
    assert find_cut_index(messages, count_leading_system_messages(messages), 0.6) == 7


def test_no_cut_passes_a_call_that_waits_for_a_person() -> None:
    messages = [user(), answer(), *tools("a"), user(), answer(), user(), answer()]
    assert find_cut_index(messages, 0, 0.9, pending_ids={"a"}) == 2


@table(
    ("messages", "expected"),
    [
        ([SYSTEM, user(), answer()], 1),
        ([user(), answer(), user(origin="hint")], 0),
        ([user(origin="compaction"), answer()], 0),
        ([SYSTEM], None),
    ],
)
def test_the_last_user_message_is_one_that_a_person_wrote(messages: list[Message], expected: int | None) -> None:
    assert find_last_user_message(messages) == expected


@given(st.lists(st.sampled_from(["user", "answer", "one", "three"]), min_size=1, max_size=40), st.floats(0.01, 1.0))
def test_both_sides_of_any_cut_are_sound(shape: list[str], share: float) -> None:
    messages: list[Message] = []
    for number, kind in enumerate(shape):
        ids = [f"{number}.{n}" for n in range({"one": 1, "three": 3}.get(kind, 0))]
        messages += tools(*ids) if ids else [user() if kind == "user" else answer()]
    cut = find_cut_index(messages, 0, share)
    assert is_valid_transcript(messages[:cut])
    assert is_valid_transcript(messages[cut:])
    assert cut < len(messages)


def test_a_cut_is_extended_until_enough_is_left_and_never_to_the_newest_round_or_a_waiting_call() -> None:
    messages = [Message("user", "a"), *tools("1"), *tools("2"), *tools("3")]
    for left, expected in ((7, 0), (5, 3), (3, 5), (1, 5)):
        assert extend_cut(messages, 0, 0, left, lambda message: 1) == expected
    assert extend_cut(messages, 0, 0, 1, lambda message: 1, {"2"}) == 3
    assert extend_cut(messages, 0, 3, 7, lambda message: 1) == 3


def test_a_cut_does_not_pass_the_last_question_for_its_own_sake() -> None:
    """It stays visible, so nothing is gained; and the view of the next turn would begin otherwise."""
    messages = [Message("user", "a"), *tools("1"), Message("user", "b"), *tools("2")]
    assert extend_cut(messages, 0, 0, 1, lambda message: 1) == 3
