"""The policy cache: threshold, replacement, expiry, bound, warm start, forgetting."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from sophon.learning import policy_cache
from sophon.learning.contract import CachedPolicy, StoredPolicy
from sophon.learning.policy_cache import (
    EXPIRY,
    MAX_ENTRIES,
    NEIGHBOURS,
    SIMILARITY_THRESHOLD,
    VectorPolicyCache,
    parse_policy,
    policy_to_json,
)
from sophon.testing import VirtualClock
from tests.tables import table

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock(start=NOON)


async def list_tiers(cache: VectorPolicyCache, vector: Sequence[float]) -> list[str]:
    return [each.tier for each in await cache.lookup(vector)]


def test_the_published_constants():
    assert (SIMILARITY_THRESHOLD, NEIGHBOURS) == (0.85, 5)
    assert (10_000, timedelta(days=30)) == (MAX_ENTRIES, EXPIRY)


async def test_the_nearest_decision_above_the_threshold_is_used(clock: VirtualClock):
    cache = VectorPolicyCache(clock.now)
    assert await cache.lookup([1, 0]) == []
    await cache.record([1, 0], "premium", "a/large", 0.9)
    await cache.record([0, 1], "free", "a/small", 0.2, is_poor=True)
    assert await cache.lookup([10, 0.1]) == [CachedPolicy("premium", "a/large", 0.9, pytest.approx(1, abs=1e-3))]
    # The similarity must be above the threshold: 0.6 and 0.8 are not.
    assert await cache.lookup([0.6, 0.8]) == []
    [found] = await cache.lookup([0.5, 0.86603])
    assert found == CachedPolicy("free", "a/small", 0.2, pytest.approx(0.866, abs=1e-3), is_poor=True)
    assert len(cache.forget()) == 2


async def test_a_similarity_that_equals_the_threshold_is_not_enough(
    clock: VirtualClock, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(policy_cache, "SIMILARITY_THRESHOLD", 1.0)
    cache = VectorPolicyCache(clock.now)
    await cache.record([1, 0], "free", "m", 1.0)
    assert await cache.lookup([1, 0]) == []


async def test_a_later_decision_of_the_same_tier_for_the_same_message_replaces_the_earlier_one(clock: VirtualClock):
    cache = VectorPolicyCache(clock.now)
    await cache.record([1, 0], "free", "a", 0.8)
    await cache.record([1, 0], "premium", "b", 0.9)
    clock.jump(3600)
    await cache.record([2, 0], "free", "c", 0.1, is_poor=True)
    found = await cache.lookup([1, 0])
    assert [(each.tier, each.model, each.is_poor) for each in found] == [("free", "c", True), ("premium", "b", False)]
    assert len(cache.forget()) == 2


async def test_a_decision_expires_and_the_latest_comes_first(clock: VirtualClock):
    cache = VectorPolicyCache(clock.now)
    await cache.record([1, 0], "old", "m", 0.8)
    clock.jump(EXPIRY.total_seconds() - 3600)
    await cache.record([1, 0.1], "new", "m", 0.8)
    assert await list_tiers(cache, [1, 0]) == ["new", "old"]
    clock.jump(3600)
    assert await list_tiers(cache, [1, 0]) == ["new"]
    assert len(cache.forget()) == 1


async def test_the_oldest_decision_makes_room(clock: VirtualClock, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(policy_cache, "MAX_ENTRIES", 2)
    cache = VectorPolicyCache(clock.now)
    for name, vector in (("a", [1, 0, 0]), ("b", [0, 1, 0]), ("c", [0, 0, 1])):
        await cache.record(vector, name, "m", 0.8)
    assert [await list_tiers(cache, each) for each in ([1, 0, 0], [0, 1, 0], [0, 0, 1])] == [[], ["b"], ["c"]]


async def test_a_vector_of_another_embedder_finds_and_changes_nothing(clock: VirtualClock):
    cache = VectorPolicyCache(clock.now)
    await cache.record([1, 0], "free", "m", 0.8, run_id="r")
    await cache.record([1, 0, 0], "premium", "m", 0.8, run_id="r")
    assert await cache.lookup([1, 0, 0]) == []
    assert [each.tier for each in cache.take_pending()] == ["free"]


async def test_it_begins_with_what_was_stored_and_says_once_what_is_new(clock: VirtualClock):
    first = VectorPolicyCache(clock.now)
    await first.record([0, 1], "free", "m", 0.9)  # of no run: in memory only
    await first.record([1, 0], "premium", "m", 0.9, session_id="s", run_id="r")
    [stored] = first.take_pending()
    assert first.take_pending() == []
    expired = replace(stored, key="other", at=NOON - timedelta(days=31))

    loads: list[int] = []

    class Source:
        async def list_versions(self) -> Mapping[str, int]:
            return {"other": 1, stored.key: 2}

        async def load(self, keys: Sequence[str]) -> Sequence[StoredPolicy]:
            loads.append(len(keys))
            return [expired, stored]

    second = VectorPolicyCache(clock.now, source=Source())
    assert await list_tiers(second, [1, 0]) == ["premium"]
    await second.lookup([1, 0])
    assert (loads, second.take_pending()) == ([2], [])
    assert second.forget() == [stored.key]


async def test_decisions_of_a_session_a_run_and_all_are_forgotten(clock: VirtualClock):
    cache = VectorPolicyCache(clock.now)
    for vector, session, run in (([1, 0, 0], "s", "r1"), ([0, 1, 0], "s", "r2"), ([0, 0, 1], "t", "r3")):
        await cache.record(vector, "free", "m", 0.8, session_id=session, run_id=run)
    assert len(cache.forget(run_id="r1")) == 1
    assert await cache.lookup([1, 0, 0]) == []
    assert len(cache.forget(session_id="s")) == 1
    assert [each.run_id for each in cache.take_pending()] == ["r3"]
    assert len(cache.forget()) == 1
    assert await cache.lookup([0, 0, 1]) == []
    assert cache.forget() == []


@table(
    "data",
    [None, [], {}, {"tier": "a", "model": "m"}, {"tier": 1, "model": "m", "quality": 1}]
    + [{"tier": "a", "model": "m", "quality": each} for each in ("high", None, 2, -1, float("nan"))],
)
def test_what_is_no_policy_is_refused(data: Any):
    with pytest.raises(ValueError):
        parse_policy("k", [1.0], data, NOON, "s")


def test_a_policy_survives_being_stored():
    policy = StoredPolicy("k", [1.0], "free", "m", 0.1, NOON, "s", "r", is_poor=True)
    assert parse_policy("k", [1.0], policy_to_json(policy), NOON, "s") == policy
