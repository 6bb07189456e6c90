"""A conversation is made to fit without asking anybody."""

from hypothesis import given
from hypothesis import strategies as st

from sophon import Message, ToolCall
from sophon.models.token_counter import TokenCounter
from sophon.testing import assert_valid_transcript
from sophon_middlewares.outer.context_window.conversation_truncation import (
    GAP_NOTE,
    MIN_RESULT_CHARACTERS,
    find_common_cap,
    minimum_tokens,
    truncate_conversation,
    truncate_tool_results,
)
from tests.tables import table

COUNT = TokenCounter().count_message
SYSTEM = Message("system", "Be brief.")


def size(messages: list[Message]) -> int:
    return sum(map(COUNT, messages))


def words(count: int) -> str:
    return "word " * count


def tools(*results: str, prefix: str = "c") -> list[Message]:
    calls = [ToolCall(f"{prefix}{n}", "look") for n in range(len(results))]
    return [
        Message("assistant", "", calls),
        *(Message("tool", r, tool_call_id=c.id) for c, r in zip(calls, results, strict=True)),
    ]


def talk(turns: int, length: int = 20) -> list[Message]:
    messages = [SYSTEM]
    for _ in range(turns):
        messages += [Message("user", words(length)), Message("assistant", words(length))]
    return [*messages, Message("user", "and now?")]


def test_the_oldest_rounds_go_first_and_the_model_is_told() -> None:
    messages = talk(10)
    kept = truncate_conversation(messages, size(messages) // 2, 10_000, count=COUNT)
    assert kept[:3] == [SYSTEM, messages[1], GAP_NOTE]  # the first message is pinned
    assert kept[3:] == messages[-len(kept[3:]) :]
    assert size(kept) <= size(messages) // 2


def test_a_long_loop_keeps_its_question_and_the_newest_results() -> None:
    question = Message("user", "look everywhere")
    loop = [message for n in range(30) for message in tools(words(50), prefix=f"{n}.")]
    kept = truncate_conversation([SYSTEM, question, *loop], 400, 500, count=COUNT)
    assert kept[:3] == [SYSTEM, question, GAP_NOTE]
    assert kept[-1] is loop[-1]
    assert_valid_transcript(kept)


def test_the_newest_results_are_cut_evenly_instead_of_left_out() -> None:
    messages = [SYSTEM, Message("user", "look"), *tools(words(10), words(5000), words(5000))]
    kept = truncate_conversation(messages, 1000, 1200, count=COUNT)
    assert_valid_transcript(kept)
    assert size(kept) <= 1000
    assert kept[3] is messages[3]
    assert "truncated" in kept[4].content
    assert abs(COUNT(kept[4]) - COUNT(kept[5])) < 50


def test_an_older_result_that_is_too_large_by_itself_is_cut_at_its_source() -> None:
    messages = [SYSTEM, Message("user", "look"), *tools(words(5000)), *tools(words(10), prefix="d")]
    kept = truncate_conversation(messages, 1000, 1200, count=COUNT)
    assert GAP_NOTE not in kept
    assert "truncated" in kept[3].content
    assert COUNT(kept[3]) <= 250


def test_a_summary_outlives_older_messages() -> None:
    summary = Message("user", "[Summary] Ada is a cat", origin="compaction")
    messages = [SYSTEM, summary, *talk(10)[1:]]
    kept = truncate_conversation(messages, size(messages) // 3, 10_000, count=COUNT)
    assert kept[:3] == [SYSTEM, summary, GAP_NOTE]


def test_a_second_truncation_leaves_one_note() -> None:
    once = truncate_conversation(talk(10), 300, 400, count=COUNT)
    twice = truncate_conversation(once, 150, 400, count=COUNT)
    assert twice.count(GAP_NOTE) == 1


def test_the_smallest_view_is_system_prompt_and_question() -> None:
    messages = talk(5)
    assert minimum_tokens(messages, COUNT) == COUNT(messages[0]) + COUNT(messages[-1])


@table(
    ("sizes", "room", "expected"),
    [([10, 10], 100, 10), ([10, 50, 50], 70, 30), ([90], 50, 50), ([1, 2, 300], 30, 27), ([5], -3, 0), ([], 9, 0)],
)
def test_the_level_is_the_largest_cap_that_fits(sizes: list[int], room: int, expected: int) -> None:
    assert find_common_cap(sizes, room) == expected


def test_nothing_is_left_of_a_result_below_its_floor() -> None:
    cut = truncate_tool_results(tools(words(500)), 0, COUNT)
    assert 0 < len(cut[1].content) <= MIN_RESULT_CHARACTERS


texts = st.integers(0, 400).map(words) | st.text(max_size=300)
conversations = st.lists(
    st.tuples(st.just("user") | st.just("assistant"), texts)
    | st.tuples(st.just("tools"), st.lists(texts, min_size=1, max_size=4)),
    max_size=20,
)


@given(conversations, st.integers(0, 3), st.integers(50, 3000))
def test_any_conversation_stays_sound_keeps_what_must_stay_and_fits(
    shape: list[tuple[str, str | list[str]]], systems: int, target: int
) -> None:
    messages = [SYSTEM] * systems + [Message("user", "first")]
    for number, (kind, content) in enumerate(shape):
        if isinstance(content, list):
            messages += tools(*content, prefix=f"{number}.")
        else:
            messages.append(Message("user" if kind == "user" else "assistant", content))
    spoken = next(message for message in reversed(messages) if message.role == "user")
    most = target * 5 // 4
    kept = truncate_conversation(messages, target, most, count=COUNT)
    assert_valid_transcript(kept)
    assert kept[:systems] == messages[:systems]
    assert any(message is spoken for message in kept)
    if minimum_tokens(messages, COUNT) + COUNT(GAP_NOTE) <= most:
        assert size(kept) <= most
