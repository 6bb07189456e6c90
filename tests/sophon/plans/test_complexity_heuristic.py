"""The complexity heuristic: the published points, and the examples of the issue."""

import time

from hypothesis import given
from hypothesis import strategies as st

from sophon.plans import heuristic_score
from tests.tables import table

ADA = (
    "First write down that my cat is called Ada, then look up what you know about cats, "
    "and finally summarise both in three steps"
)


@table(
    ("text", "score"),
    [
        ("", 0),
        ("What is 17 * 23, and what day is it today?", 0),
        ("Run the command: uname -a", 0),
        ("Hello there", 0),
        ("x" * 100, 0),
        ("x" * 101, 1),
        ("Tell me a joke and then another", 2),
        ("Tell me a joke AND\n THEN another", 2),
        ("After that, rest", 2),
        ("a followed by b", 2),
        ("First sing, then dance", 2),
        ("first things first", 0),
        ("then first", 0),
        ("if it rains, then what?", 0),
        ("A joke and then another, after that a song, followed by first this then that", 2),
        ("in three steps", 2),
        ("the plan", 2),
        ("a sequence of steps in a plan", 2),
        ("footsteps of the planet, a consequence, planning", 0),
        ("one step", 0),
        ("search", 0),
        ("search and search again", 0),
        ("search and find", 1),
        ("search, find, get, fetch, read and write", 1),
        ("Look  up the weather and SEND it", 1),
        ("look and send", 0),
        ("make it and do it and plan", 2),
        ("searching and finding, sends, reader, target, forget", 0),
        ("summarise and summarize", 0),
        ("analyse, then analyze", 0),
        ("summarize and analyse", 1),
        ("translate and compare", 1),
        ("book and schedule", 1),
        ("build, update, delete", 1),
        ("create or read", 1),
        ("Plan my week: search flights and then book them", 5),
        (ADA, 6),
    ],
)
def test_the_score_of_a_message(text: str, score: int) -> None:
    assert heuristic_score(text) == score


@given(st.text())
def test_every_score_lies_between_none_and_six_in_any_case(text: str) -> None:
    assert 0 <= heuristic_score(text) <= 6


@given(st.lists(st.sampled_from([*ADA.split(), "and", "plan", "\n", "FIRST"])))
def test_case_and_white_space_change_nothing(words: list[str]) -> None:
    assert heuristic_score(" ".join(words)) == heuristic_score(" ".join(words).upper())


@table("piece", ["first ", "look ", "and  ", " ", "search "])
def test_a_huge_message_is_scored_in_linear_time(piece: str) -> None:
    began = time.process_time()
    heuristic_score(piece * 200_000)
    assert time.process_time() - began < 3
