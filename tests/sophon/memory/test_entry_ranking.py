"""Fusion, decay and diversity of what a search found."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sophon.memory import decayed, fuse, mmr
from tests.tables import table


def test_an_id_in_both_rankings_wins_and_the_best_score_is_one() -> None:
    found = fuse([["a", "b"], ["b", "c"]])
    best = 1 / 61 + 1 / 62
    assert [each for each, _ in found] == ["b", "a", "c"]
    assert [score for _, score in found] == pytest.approx([1.0, 1 / 61 / best, 1 / 62 / best])


@table(
    ("rankings", "order"),
    [
        ([], []),
        ([[]], []),
        ([["a"], ["b"]], ["a", "b"]),
        ([["b"], ["a"]], ["b", "a"]),
        ([["a", "a", "b"]], ["a", "b"]),
        ([["x", "a"], ["y", "a"]], ["a", "x", "y"]),
    ],
)
def test_ties_are_in_order_of_first_appearance(rankings: list[list[str]], order: list[str]) -> None:
    assert [each for each, _ in fuse(rankings)] == order


@table(("age", "half_life", "share"), [(0, 180, 1), (180, 180, 0.5), (360, 180, 0.25), (-5, 180, 1), (10, 10, 0.5)])
def test_a_score_halves_with_each_half_life(age: float, half_life: float, share: float) -> None:
    assert decayed(0.8, age, half_life) == pytest.approx(0.8 * share)


def test_a_half_life_of_zero_is_refused() -> None:
    with pytest.raises(ValueError, match="half_life_days must be above 0"):
        decayed(1, 1, 0)


NEAR, TWIN, OTHER = (1.0, 0.05), (1.0, 0.051), (0.7, -0.7)


@table(
    ("limit", "lambda_", "chosen"),
    [
        (0, 0.7, []),
        (1, 0.7, ["near"]),
        (2, 0.5, ["near", "other"]),
        (2, 1.0, ["near", "twin"]),
        (9, 0.5, ["near", "other", "twin"]),
    ],
)
def test_what_is_like_a_chosen_one_comes_later(limit: int, lambda_: float, chosen: list[str]) -> None:
    assert mmr((1.0, 0.0), [("near", NEAR), ("twin", TWIN), ("other", OTHER)], limit, lambda_) == chosen


def test_opposite_entries_are_preferred_to_similar_ones() -> None:
    # With three chosen, the similarity to the most similar one counts, which may be below zero.
    candidates = [("a", (1.0, 0.0)), ("b", (-1.0, 0.0)), ("c", (0.0, 1.0))]
    assert mmr((1.0, 0.0), candidates, 3, 0.1) == ["a", "b", "c"]


def test_vectors_of_different_lengths_are_refused_and_a_zero_vector_is_like_nothing() -> None:
    with pytest.raises(ValueError, match="zip"):
        mmr((1.0,), [("a", (1.0, 2.0))], 1)
    assert mmr((1.0, 0.0), [("zero", (0.0, 0.0)), ("a", (1.0, 0.0))], 1) == ["a"]


@given(st.lists(st.lists(st.integers(0, 20), max_size=12), max_size=5), st.integers(1, 100))
def test_fusion_keeps_each_id_once_in_falling_order(rankings: list[list[int]], k: int) -> None:
    found = fuse(rankings, k)
    assert sorted(each for each, _ in found) == sorted({each for ranking in rankings for each in ranking})
    scores = [score for _, score in found]
    assert scores == sorted(scores, reverse=True)
    assert not scores or math.isclose(scores[0], 1.0)
