"""A context within a budget: the first message stays, tool calls keep their results, and the budget is kept."""

import random
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from sophon import Message, ToolCall
from sophon.models.token_counter import TokenCounter
from sophon.testing import assert_valid_transcript
from sophon_middlewares.outer.context_window.context_assembly import drop_middle, keep_relevant, list_round_texts
from sophon_middlewares.outer.context_window.conversation_cut_points import split_rounds
from sophon_middlewares.outer.context_window.conversation_truncation import GAP_NOTE, minimum_tokens
from tests.properties import examples
from tests.tables import table

COUNT = TokenCounter().count_message
NOTE = COUNT(GAP_NOTE)


def size(messages: list[Message]) -> int:
    return sum(map(COUNT, messages))


def said(name: str, tokens: int = 20) -> Message:
    """A message of the user of so many tokens."""
    return Message("user", f"{name} " + "abc " * (tokens - 5), origin="" if name == "ask" else "hint")


def names(messages: list[Message]) -> list[str]:
    return ["..." if each is GAP_NOTE else each.content.split()[0] for each in messages]


@table(
    ("budget", "kept"),
    [
        (200, ["one", "two", "six", "ten", "ask"]),
        (100 + NOTE, ["one", "two", "six", "ten", "ask"]),
        (80 + NOTE, ["one", "...", "six", "ten", "ask"]),
        (60 + NOTE, ["one", "...", "ten", "ask"]),
        (40 + NOTE, ["one", "...", "ask"]),
    ],
)
def test_the_first_and_the_last_stay_and_the_middle_goes_oldest_first(budget: int, kept: list[str]) -> None:
    messages = [said(name) for name in ("one", "two", "six", "ten", "ask")]
    assert size(messages) == 100
    assert names(drop_middle(messages, budget, 1000, count=COUNT)) == kept


def test_what_does_not_fit_ends_the_walk_although_an_older_one_would_fit() -> None:
    messages = [said("one"), said("two"), said("six", 90), said("ten"), said("ask")]
    assert names(drop_middle(messages, 80 + NOTE, 1000, count=COUNT)) == ["one", "...", "ten", "ask"]


@table("messages", [[], [said("ask", 500)], [said("one", 20), said("ask", 500)]])
def test_nothing_one_and_two_messages(messages: list[Message]) -> None:
    kept = drop_middle(messages, 100, 1000, count=COUNT)
    assert kept[-1:] == messages[-1:]  # kept, although it is larger than the budget
    assert size(kept) <= max(100, minimum_tokens(messages, COUNT) + NOTE)


def test_a_first_message_that_is_too_large_is_cut_and_stays() -> None:
    kept = drop_middle([said("one", 900), said("two"), said("ask")], 200, 1000, count=COUNT)
    assert names(kept)[0] == "one"
    assert size(kept) <= 200


def test_what_is_near_the_question_stays_in_its_place() -> None:
    messages = [said(name) for name in ("one", "far", "sky", "sea", "ten", "ask")]
    found = keep_relevant(messages, 80 + NOTE, 1000, count=COUNT, similarities={1: 0.1, 2: 0.9, 3: 0.5, 4: 0.2})
    assert names(found) == ["one", "...", "sky", "sea", "ask"]
    without = keep_relevant(messages, 80 + NOTE, 1000, count=COUNT, similarities={})
    assert names(without) == ["one", "...", "sea", "ten", "ask"]  # the newest among equals


@st.composite
def conversations(draw: st.DrawFn) -> list[Message]:
    messages = [Message("system", "Be brief.")] if draw(st.booleans()) else []
    for number in range(draw(st.integers(1, 8))):
        messages.append(Message("user", "word " * draw(st.integers(1, 60)) + str(number)))
        calls = [ToolCall(f"{number}.{at}", "look") for at in range(draw(st.integers(0, 3)))]
        if calls:
            messages.append(Message("assistant", "", calls))
            messages += [Message("tool", "found " * draw(st.integers(1, 200)), tool_call_id=each.id) for each in calls]
        elif draw(st.booleans()):
            messages.append(Message("assistant", "word " * draw(st.integers(1, 60))))
    return messages


@given(conversations(), st.integers(0, 900), st.booleans(), st.randoms())
@settings(max_examples=examples(60))
def test_the_laws(messages: list[Message], budget: int, is_relevant: bool, chance: random.Random) -> None:
    if is_relevant:
        similarities = {start: chance.random() for start in list_round_texts(messages)}
        kept = keep_relevant(messages, budget, 10_000, count=COUNT, similarities=similarities)
    else:
        kept = drop_middle(messages, budget, 10_000, count=COUNT)
    least = minimum_tokens(messages, COUNT)
    assert size(kept) <= max(budget, least + NOTE)
    assert_valid_transcript(kept)
    answers = {each.tool_call_id for each in kept if each.role == "tool"}
    assert answers == {call.id for each in kept for call in each.tool_calls}
    first = next(each for each in messages if each.role != "system")
    if budget >= least + NOTE + COUNT(first) + sum(COUNT(messages[at]) for at in split_rounds(messages)[-1]):
        assert first in kept
    positions = [messages.index(each) for each in kept if each in messages and each.role != "tool"]
    assert all(before < after for before, after in pairwise(positions))
