"""What every store promises about the moving averages of routing."""

from datetime import UTC, datetime, timedelta

import pytest

from sophon.stores.contract import Store
from sophon.stores.route_averages import route_average
from sophon.stores.route_averages.route_average import RouteAverage, RouteObservation

NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)


def observed(model: str = "a/x", *, at: datetime = NOW, **values: float | bool) -> RouteObservation:
    return RouteObservation(model, "low", "chat", at, **values)  # type: ignore[arg-type]


async def test_averages_move_by_the_weight_of_an_observation_and_counts_add_up(store: Store):
    await store.route_averages.add([observed(cost_micros=100, latency_ms=40.0), observed(quality=1.0)])
    await store.route_averages.add([observed(latency_ms=20.0, has_failed=True), observed(quality=0.5)])
    expected = RouteAverage("a/x", "low", "chat", 2, 1, 2, 100.0, 38.0, 0.95, NOW)
    assert await store.route_averages.list_all() == [expected]


async def test_what_people_say_is_averaged_by_itself(store: Store):
    await store.route_averages.add([observed(quality=0.9), observed(said=1.0)])
    await store.route_averages.add([observed(said=0.0)])
    [average] = await store.route_averages.list_all()
    assert (average.calls, average.scored, average.quality, average.rated, average.said) == (0, 1, 0.9, 2, 0.9)


async def test_averages_that_observed_nothing_for_too_long_begin_anew(store: Store):
    month = timedelta(days=30)
    await store.route_averages.add([observed(quality=1.0), observed(latency_ms=5.0)])
    for later, scored, quality in ((month - timedelta(seconds=1), 2, 0.9), (2 * month, 1, 0.0)):
        await store.route_averages.add([observed(at=NOW + later, quality=0.0)])
        [average] = await store.route_averages.list_all()
        assert (average.scored, average.quality) == (scored, quality)
    assert average.calls == 0


async def test_an_unknown_cost_is_not_zero(store: Store):
    await store.route_averages.add([observed(latency_ms=1.0)])
    [average] = await store.route_averages.list_all()
    assert average.cost_micros is None


async def test_each_model_tier_and_task_type_has_its_own_and_reset_forgets_all(store: Store):
    pairs = [("b", "low", "chat"), ("a", "low", "chat"), ("a", "high", "chat"), ("a", "high", "research")]
    await store.route_averages.add([RouteObservation(*key, NOW, quality=0.5) for key in pairs])
    assert [each.key for each in await store.route_averages.list_all()] == sorted(pairs)
    assert await store.route_averages.reset() == 4
    assert await store.route_averages.list_all() == []


async def test_the_average_that_was_updated_longest_ago_makes_room(store: Store, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("sophon.stores.route_averages.sql.MAX_KEYS", 2)
    for number, name in enumerate(["b", "a", "b", "c"]):
        await store.route_averages.add([observed(name, at=NOW + timedelta(seconds=number), quality=1.0)])
    assert [each.model for each in await store.route_averages.list_all()] == ["b", "c"]
    assert route_average.MAX_KEYS == 10_000
