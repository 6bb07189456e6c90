"""The scorers, the quality of a trajectory, and what emojis say."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sophon.learning.contract import ScoredTurn
from sophon.learning.feedback import value_of_emoji, value_of_emojis
from sophon.learning.fitness import Fitness, fitness
from sophon.learning.form_faults import FAULT_SCORES, find_faults
from sophon.learning.scorers import SCORERS, FitnessScorer, HeuristicScorer, NoopScorer, find_judge
from sophon.learning.trajectories import (
    POOR_BELOW,
    Trajectory,
    count_agreement,
    count_poor,
    describe_scores,
    needs_evolution,
    rate_quality,
    summarize,
)
from tests.sophon.learning.labelled_answers import HELD_OUT, TUNING
from tests.tables import table

ANSWERED = ScoredTurn(
    "Explain the parser of the compiler", "The parser of the compiler reads tokens and builds a tree."
)


def test_the_scorers_of_the_setting():
    assert dict(SCORERS.items()) == {
        "Noop": NoopScorer,
        "Fitness": FitnessScorer,
        "Heuristic": HeuristicScorer,
        "Evaluator": HeuristicScorer,
    }


def test_the_no_op_scorer_gives_one_for_everything():
    assert NoopScorer().score(ScoredTurn("x", "")) == Fitness(1.0, 1.0, 1.0, 1.0, 1.0)


def test_the_fitness_scorer_is_the_published_formula():
    turn = ScoredTurn("Sum it", "I can't.", "chat", "length", 3000, 2, 0)
    expected = fitness("Sum it", "I can't.", finish_reason="length", output_tokens=3000, tools_offered=2)
    assert FitnessScorer().score(turn) == expected


def test_a_fault_of_form_is_a_poor_score_and_without_one_there_is_no_opinion():
    scorer = HeuristicScorer()
    assert scorer.score(ANSWERED) is None
    assert scorer.score(ScoredTurn("What is 2 + 2?", "4")) is None
    assert scorer.score(ScoredTurn("x", "  ")) == Fitness(0, 0, 0, 0, 0)
    refused = scorer.score(replace(ANSWERED, reply_text="I'm sorry, but I can't help with that."))
    assert refused == Fitness(0.2, 0.2, 1.0, 1.0, 1.0)
    assert max(FAULT_SCORES.values()) < POOR_BELOW


@table(
    ("turn", "faults"),
    [
        (replace(ANSWERED, finish_reason="length"), ["cut_off"]),
        (replace(ANSWERED, tools_used=2, tool_failures=2), ["failed_tools"]),
        (replace(ANSWERED, tools_used=2, tool_failures=1), []),
        (ScoredTurn("Return it as JSON", "It is two."), ["format"]),
        (ScoredTurn("Return it as JSON", 'So:\n```json\n{"a": 2}\n```'), []),
        (ScoredTurn("List it as bullet points", "one, two"), ["format"]),
        (ScoredTurn("Is it so? Answer yes or no", "It may be"), ["format"]),
        (ScoredTurn("x", "I cannot do that.", finish_reason="length"), ["refusal", "cut_off"]),
        (ScoredTurn("x", "You cannot do that with this knife. " * 30), []),
    ],
)
def test_the_faults_that_form_shows(turn: ScoredTurn, faults: list[str]):
    assert find_faults(turn) == faults


def test_of_labelled_answers_no_right_one_has_a_fault_and_people_share_nearly_every_opinion():
    for half in (TUNING, HELD_OUT):
        found = [each for each in half if find_faults(each.turn)]
        assert [each.request for each in found if each.is_good] == []
        shown = [each for each in half if each.label in ("refusal", "cut_off", "format", "failed_tools")]
        assert len(found) >= 0.9 * len(shown)
    assert len(TUNING) + len(HELD_OUT) >= 120


def test_the_published_formula_calls_wrong_and_harmful_answers_good_and_therefore_judges_nothing():
    bad = [each for each in HELD_OUT if each.label in ("wrong", "nonsense", "harmful")]
    assert sum(FitnessScorer().score(each.turn).overall > 0.8 for each in bad) > 0.9 * len(bad)
    judges = [find_judge(each) for each in (NoopScorer(), FitnessScorer(), HeuristicScorer(), Fixed())]
    assert judges == ["", "", "form", "scorer"]


class Fixed:
    """A scorer of a program."""

    def score(self, turn: ScoredTurn) -> Fitness:
        return Fitness(1, 1, 1, 1, 1)


@given(st.text(), st.text(), st.sampled_from(["stop", "length", "error"]), st.integers(0, 9), st.integers(0, 9))
def test_every_score_is_between_zero_and_one(request: str, reply: str, reason: str, used: int, failed: int):
    turn = ScoredTurn(request, reply, "code_generation", reason, 10, 3, used, failed)
    for name in SCORERS:
        score = SCORERS[name]().score(turn)
        if score is None:
            continue
        values = (score.overall, score.relevance, score.efficiency, score.tool_accuracy, score.coherence)
        assert all(0 <= each <= 1 for each in values)


@table(
    ("signals", "expected"),
    [((), 0.9), ((1.0,), 0.97), ((-1.0,), 0.27), ((1.0, -1.0), 0.62), ((0.0,), 0.62)],
)
def test_what_people_say_outweighs_a_judge(signals: tuple[float, ...], expected: float):
    assert rate_quality(0.9, signals) == pytest.approx(expected)


@table(("signals", "expected"), [((), None), ((1.0,), 1.0), ((-1.0, 0.0), 0.25)])
def test_without_a_judge_the_quality_is_what_people_say(signals: tuple[float, ...], expected: float | None):
    assert rate_quality(None, signals) == expected


def turn(quality: float | None, feedback: float | None = None, task_type: str = "chat") -> Trajectory:
    at = datetime(2026, 1, 1, tzinfo=UTC)
    return Trajectory("r", "s", "ada", at, "ask", "answer", task_type, quality=quality, feedback=feedback)


def test_the_agreement_of_a_judge_with_people_counts_what_both_have_judged():
    def judged(score: float, said: float | None, judge: str = "evaluator") -> Trajectory:
        return replace(turn(score, said), scores={"overall": score}, judge=judge)

    both = [judged(0.9, 1.0), judged(0.2, -1.0), judged(0.9, -1.0)]
    others = [judged(0.9, None), judged(0.9, -1.0, judge="")]  # nobody has said anything; the published formula
    assert count_agreement([*both, *others]) == {"compared": 3, "agreed": 2}


def test_a_rejected_answer_counts_as_two_more_poor_ones_and_many_call_for_a_change():
    turns = [turn(0.59), turn(0.6), turn(0.9, -1.0), turn(0.1, 0.5), turn(None)]
    assert count_poor(turns) == 4
    assert [needs_evolution(10, 50), needs_evolution(9, 50), needs_evolution(10, 51)] == [True, False, False]


def test_counts_and_mean_qualities_are_summarised():
    found = summarize([turn(0.9), turn(0.5, -1.0), turn(0.7, task_type="research"), turn(None)])
    assert found == {
        "count": 4,
        "good": 1,
        "poor": 1,
        "rated": 1,
        "quality": 0.7,
        "task_types": {"chat": 0.7, "research": 0.7},
        "compared": 0,
        "agreed": 0,
    }
    assert summarize([])["quality"] is None
    assert describe_scores({"overall": 0.5, "relevance": 0.4}) == "overall 0.50, relevance 0.40; low: relevance"


@table(
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
