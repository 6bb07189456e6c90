"""The quality of a tier: the score of answers by their form, and what people say about them."""

from datetime import UTC, datetime, timedelta

import pytest

from sophon.routing.route_averages import RouteAverages, judge_quality
from sophon.stores.route_averages.route_average import RouteAverage
from tests.tables import table

NOW = datetime(2026, 1, 31, tzinfo=UTC)


@table(
    ("form", "said", "rated", "quality"),
    [
        (None, None, 0, 0.0),
        (0.9, None, 0, 0.9),
        (None, 0.4, 1, 0.4),
        (0.9, 0.0, 5, 0.27),
        (0.9, 0.0, 1000, 0.27),  # more ratings do not make them weigh more than 0.7
        (0.9, 0.0, 1, 0.774),
        (0.9, 1.0, 10, 0.97),
    ],
)
def test_what_people_say_weighs_as_much_as_for_one_answer(
    form: float | None, said: float | None, rated: int, quality: float
) -> None:
    assert judge_quality(form, said, rated) == pytest.approx(quality)


def test_the_models_of_a_tier_count_by_their_turns() -> None:
    averages = RouteAverages(lambda: NOW)
    averages.load(
        [
            RouteAverage("a", "low", "chat", scored=30, quality=0.9, rated=10, said=0.0),
            RouteAverage("b", "low", "chat", scored=10, quality=0.5),
            RouteAverage("c", "high", "chat", scored=9, quality=0.1),
        ]
    )
    found = averages.find_quality("low", "chat")
    assert (found.scored, found.quality) == (40, pytest.approx(0.3 * 0.8))


@table(("days", "scored"), [(29, 1), (30, 0)])
def test_an_average_that_observed_nothing_for_too_long_is_not_used(days: int, scored: int) -> None:
    averages = RouteAverages(lambda: NOW)
    averages.load([RouteAverage("a", "low", "chat", scored=1, quality=0.9, updated_at=NOW - timedelta(days=days))])
    assert averages.find_quality("low", "chat").scored == scored
