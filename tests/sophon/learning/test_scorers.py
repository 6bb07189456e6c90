"""The scorers, the quality of a trajectory, and what emojis say."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sophon.learning.contract import ScoredTurn
from sophon.learning.feedback import value_of_emoji, value_of_emojis
from sophon.learning.fitness import Fitness, fitness
from sophon.learning.scorers import (
    DIMENSION_WEIGHTS,
    SCORERS,
    FitnessScorer,
    HeuristicScorer,
    NoopScorer,
    score_dimensions,
    score_format,
    score_length,
    score_relevance,
    score_tools,
)
from sophon.learning.trajectories import (
    Trajectory,
    count_poor,
    describe_scores,
    needs_evolution,
    rate_quality,
    summarize,
)

ANSWERED = ScoredTurn(
    "Explain the parser of the compiler", "The parser of the compiler reads tokens and builds a tree."
)


def test_the_scorers_of_the_setting():
    assert dict(SCORERS.items()) == {
        "Noop": NoopScorer,
        "Fitness": FitnessScorer,
        "Heuristic": HeuristicScorer,
    }


def test_the_no_op_scorer_gives_one_for_everything():
    assert NoopScorer().score(ScoredTurn("x", "")) == Fitness(1.0, 1.0, 1.0, 1.0, 1.0)


def test_the_fitness_scorer_is_the_published_formula():
    turn = ScoredTurn("Sum it", "I can't.", "chat", "length", 3000, 2, 0)
    expected = fitness("Sum it", "I can't.", finish_reason="length", output_tokens=3000, tools_offered=2)
    assert FitnessScorer().score(turn) == expected


def test_the_five_dimensions_weigh_one_together_and_an_empty_reply_scores_nothing():
    assert sum(DIMENSION_WEIGHTS.values()) == pytest.approx(1.0)
    assert len(DIMENSION_WEIGHTS) == 5
    assert HeuristicScorer().score(ScoredTurn("x", "  ")) == Fitness(0, 0, 0, 0, 0)
    assert HeuristicScorer().score(ANSWERED).overall == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("name", "worse"),
    [
        ("relevance", replace(ANSWERED, reply_text="Bananas are yellow and grow on plants, as everybody knows.")),
        ("length", replace(ANSWERED, reply_text=ANSWERED.reply_text * 300)),
        ("format", replace(ANSWERED, task_type="code_generation")),
        ("tool_success", replace(ANSWERED, tools_used=2, tool_failures=1)),
        ("completion", replace(ANSWERED, finish_reason="length")),
    ],
)
def test_each_dimension_lowers_the_score_by_itself(name: str, worse: ScoredTurn):
    before, after = score_dimensions(ANSWERED), score_dimensions(worse)
    assert [each for each in before if after[each] < before[each]] == [name]
    assert HeuristicScorer().score(worse).overall < HeuristicScorer().score(ANSWERED).overall


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (score_relevance("why", "because"), 1.0),
        (score_relevance("Translate hello world", "bonjour"), 0.7),
        (score_relevance("alpha beta gamma delta", "nothing"), 0.3),
        (score_relevance("alpha beta gamma delta", "alpha"), 0.65),
        (score_relevance("alpha beta gamma delta", "alpha, beta"), 1.0),
        (score_length(13, 2), 0.4),
        (score_length(12, 2), 1.0),
        (score_length(5, 1500), 1.0),
        (score_length(5, 2250), 0.65),
        (score_length(5, 9000), 0.3),
        (score_format("list the steps", "one, two", "chat"), 0.6),
        (score_format("list the steps", "1. one\n2. two", "chat"), 1.0),
        (score_format("code it", "```\nx\n```", "code_generation"), 1.0),
        (score_format("code it", "x", "code_generation"), 0.6),
        (score_format("code it", "```\nx", "chat"), 0.6),
        (score_tools(0, 0), 1.0),
        (score_tools(4, 1), 0.75),
        (score_tools(1, 3), 0.0),
    ],
)
def test_the_rules_of_the_dimensions(found: float, expected: float):
    assert found == pytest.approx(expected)


@given(st.text(), st.text(), st.sampled_from(["stop", "length", "error"]), st.integers(0, 9), st.integers(0, 9))
def test_every_score_is_between_zero_and_one(request: str, reply: str, reason: str, used: int, failed: int):
    turn = ScoredTurn(request, reply, "code_generation", reason, 10, 3, used, failed)
    for name in SCORERS:
        score = SCORERS[name]().score(turn)
        values = (score.overall, score.relevance, score.efficiency, score.tool_accuracy, score.coherence)
        assert all(0 <= each <= 1 for each in values)


@pytest.mark.parametrize(
    ("signals", "expected"),
    [((), 0.9), ((1.0,), 0.97), ((-1.0,), 0.27), ((1.0, -1.0), 0.62), ((0.0,), 0.62)],
)
def test_what_people_say_outweighs_the_form(signals: tuple[float, ...], expected: float):
    assert rate_quality(0.9, signals) == pytest.approx(expected)


def turn(quality: float, feedback: float | None = None, task_type: str = "chat") -> Trajectory:
    at = datetime(2026, 1, 1, tzinfo=UTC)
    return Trajectory("r", "s", "ada", at, "ask", "answer", task_type, quality=quality, feedback=feedback)


def test_a_rejected_answer_counts_as_two_more_poor_ones_and_many_call_for_a_change():
    turns = [turn(0.59), turn(0.6), turn(0.9, -1.0), turn(0.1, 0.5)]
    assert count_poor(turns) == 4
    assert [needs_evolution(10, 50), needs_evolution(9, 50), needs_evolution(10, 51)] == [True, False, False]


def test_counts_and_mean_qualities_are_summarised():
    found = summarize([turn(0.9), turn(0.5, -1.0), turn(0.7, task_type="research")], 0.6, 0.8)
    assert found == {
        "count": 3,
        "good": 1,
        "poor": 1,
        "rated": 1,
        "quality": 0.7,
        "task_types": {"chat": 0.7, "research": 0.7},
    }
    assert summarize([], 0.6, 0.8)["quality"] is None
    assert describe_scores({"overall": 0.5, "relevance": 0.4}) == "overall 0.50, relevance 0.40; low: relevance"


@pytest.mark.parametrize(
    ("emoji", "value"),
    [
        ("👍", 1),
        ("👍🏽", 1),
        ("❤️", 1),
        ("👎", -1),
        ("💩", -1),
        ("🤔", None),
        ("", None),
        ("\ufe0f", None),
        ("ok", None),
    ],
)
def test_what_an_emoji_says(emoji: str, value: float | None):
    assert value_of_emoji(emoji) == value


def test_several_reactions_say_their_mean_and_others_nothing():
    assert [value_of_emojis(each) for each in (["👍", "👎"], ["👍", "🤔"], ["🤔"], [])] == [0, 1, None, None]
