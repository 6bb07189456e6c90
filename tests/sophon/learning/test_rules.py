"""The pure rules of routing and scoring, as tables with the published constants."""

import math
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sophon.learning import TASK_TYPES, classify, complexity, complexity_factors, compute_tier, fitness
from sophon.learning.message_complexity import WEIGHTS
from tests.tables import table


@table(
    ("text", "task_type", "keywords"),
    [
        ("", "chat", ()),
        ("Hello there", "chat", ()),
        ("Fix this function", "code_generation", ("function", "fix")),
        ("Review the code", "code_generation", ("code", "review")),
        ("please REVIEW it", "code_review", ("review",)),
        ("Look\nup the weather", "research", ("look up",)),
        ("lookup", "research", ("lookup",)),
        ("Write a poem", "creative", ("write", "poem")),
        ("explain it", "analysis", ("explain",)),
        ("run tool x", "tool_use", ("run tool",)),
        ("classify the prefix", "chat", ()),
        ("find and then write", "research", ("find", "write")),
    ],
)
def test_the_first_group_sets_the_type_and_later_hits_join(
    text: str, task_type: str, keywords: tuple[str, ...]
) -> None:
    found = classify(text)
    assert (found.task_type, found.keywords) == (task_type, keywords)


def test_the_published_match_finds_a_keyword_inside_a_word() -> None:
    assert classify("classify the prefix", whole_words=False).keywords == ("fix", "class")
    assert classify("classify the prefix", whole_words=False).task_type == "code_generation"


@table(
    ("text", "boost", "expected"),
    [
        ("hello", 0.0, 0.1),
        ("fix", 0.0, 0.9),
        ("fix it now please", 0.0, 0.25),
        ("fix it now please", 0.3, 0.55),
        ("hello", -1.0, 0.1),
        ("fix", 1.0, 0.9),
    ],
)
def test_the_complexity_is_keywords_per_word_and_the_boost_within_limits(
    text: str, boost: float, expected: float
) -> None:
    assert classify(text, complexity_boost=boost).complexity == pytest.approx(expected)


@table(
    ("text", "expected"),
    [
        ("", 0.0),
        ("word " * 100, 0.1),
        ("word " * 5000, 0.3),
        ("```x```", 0.201),
        ("Explain", 0.101),
        ("analyze and compare", 0.103),
        ("first this", 0.202),
        ("strengthen", 0.201),
        ("step 1", 0.202),
        ("first explain ```x``` " + "word " * 1000, 0.8),
    ],
)
def test_the_published_complexity(text: str, expected: float) -> None:
    assert complexity(text) == pytest.approx(expected)


@table(
    ("score", "tags", "confidence", "tier"),
    [
        (0.0, (), 1.0, 2),
        (0.2999, (), 1.0, 2),
        (0.30, (), 1.0, 3),
        (1.0, (), 1.0, 3),
        (0.1, (), 0.5, 2),
        (0.1, (), 0.49, 3),
        (0.9, (), 0.0, 3),
        (0.9, ("AGENT_BOOSTER_AVAILABLE",), 0.0, 1),
        (math.nan, (), 1.0, 3),
        (0.1, (), math.nan, 3),
    ],
)
def test_the_tier(score: float, tags: tuple[str, ...], confidence: float, tier: int) -> None:
    assert compute_tier(score, tags=tags, confidence=confidence) == tier


HARD = (
    "First analyze the architecture of the distributed database, because each transaction that spans a cluster may "
    "deadlock, and then design a migration of the schema which keeps latency low, if the protocol allows it; finally "
    "prove that the algorithm terminates.\n```python\ndef run():\n    return 1\n```"
)


def test_a_hard_prompt_scores_above_an_easy_one_and_the_confidence_falls_with_vagueness() -> None:
    hard, easy, vague = (complexity_factors(text) for text in (HARD, "What is the capital of France?", "make it good"))
    assert hard.score > 0.45 > 0.2 > easy.score
    assert hard.confidence > 0.75
    assert (
        vague.confidence
        < 0.5
        < complexity_factors("Translate the word house to French, Spanish and to Italian").confidence
    )


@table(
    ("factor", "less", "more"),
    [
        ("word_count", "tell me a story", "tell me a long story " * 10),
        ("vocabulary_diversity", "go " * 50, " ".join(f"word{n}" for n in range(50))),
        ("syntactic_depth", "It rains.", "It rains, which is bad, because the roof, although new, leaks."),
        ("domain_specificity", "a cup of tea", "the latency of a database transaction"),
        ("ambiguity", "open the red door", "make it better somehow"),
        ("code_density", "print a line", "def f(x):\n    return x;"),
        ("reasoning_chain_length", "boil the egg", "first boil it, then cool it, finally peel it"),
    ],
)
def test_each_factor_rises_with_what_it_measures(factor: str, less: str, more: str) -> None:
    assert complexity_factors(less).factors[factor] < complexity_factors(more).factors[factor]


def test_the_weights_sum_to_one_and_each_factor_has_a_weight() -> None:
    assert sum(WEIGHTS.values()) == pytest.approx(1)
    assert complexity_factors(HARD).factors.keys() == WEIGHTS.keys()
    assert len(WEIGHTS) == 7


@table(
    ("reply", "options", "relevance"),
    [
        ("", {}, 0.0),
        ("  ", {}, 0.0),
        ("Nothing.", {}, 0.7),
        ("I can't do this for you.", {}, 0.8),
        ("As an AI I cannot do this.", {}, 0.8),
        ("A long enough reply", {"finish_reason": "length"}, 0.85),
        ("Paris it is", {"finish_reason": "length"}, 0.925),
        ("A long enough reply", {}, 1.0),
    ],
)
def test_the_relevance(reply: str, options: dict[str, str], relevance: float) -> None:
    found = fitness("the capital Paris", reply, output_tokens=10, finish_reason=options.get("finish_reason", "stop"))
    assert found.relevance == pytest.approx(relevance)


@table(
    ("tokens", "efficiency"),
    [(0, 0.2), (1, 0.2), (2, 1.0), (2048, 1.0), (3072, 0.875), (4096, 0.4), (8192, 0.0)],
)
def test_the_efficiency(tokens: int, efficiency: float) -> None:
    assert fitness("x", "a plain reply", output_tokens=tokens).efficiency == pytest.approx(efficiency)


@table(("offered", "used", "accuracy"), [(0, 0, 1.0), (3, 1, 1.0), (3, 0, 0.7)])
def test_the_tool_accuracy(offered: int, used: int, accuracy: float) -> None:
    assert fitness("x", "y", tools_offered=offered, tools_used=used).tool_accuracy == accuracy


@table(
    ("reply", "coherence"),
    [
        ("", 0.0),
        ("One line.", 1.0),
        ("x" * 501, 0.85),
        ("- a\n- b\n" + "x" * 501, 1.0),
        ("Same. Same. Same. Same. Other.", 0.7),
        ("- " + "Same. " * 100, 0.65),
    ],
)
def test_the_coherence(reply: str, coherence: float) -> None:
    assert fitness("x", reply).coherence == pytest.approx(coherence)


def test_the_overall_score_is_the_weighted_sum() -> None:
    found = fitness("x", "A long enough reply", output_tokens=10, tools_offered=1)
    assert found.overall == pytest.approx(0.4 * 1 + 0.2 * 1 + 0.2 * 0.7 + 0.2 * 1)


@given(st.text(max_size=400), st.text(max_size=400), st.integers(-5, 10**7))
def test_every_score_is_within_its_range(text: str, reply: str, tokens: int) -> None:
    assert classify(text).task_type in TASK_TYPES
    assert 0.1 <= classify(text, whole_words=False).complexity <= 0.9
    assert 0 <= complexity(text) <= 1
    factors = complexity_factors(text)
    assert all(0 <= each <= 1 for each in (factors.score, factors.confidence, *factors.factors.values()))
    found = fitness(text, reply, output_tokens=tokens)
    scores = (found.overall, found.relevance, found.efficiency, found.tool_accuracy, found.coherence)
    assert all(0 <= each <= 1 for each in scores)


@table("start", ["- a step", "one"])
def test_empty_lines_cost_no_more_than_their_number(start: str) -> None:
    text = start + "\n" * 60_000 + "end"
    began = time.process_time()
    complexity_factors(text)
    fitness("hello", text, finish_reason="stop", output_tokens=9, tools_offered=0, tools_used=0)
    assert time.process_time() - began < 3
