"""What every store promises about vectors, and how policies are read from it."""

import logging
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import text

from sophon.learning.hashing_embedder import HashingEmbedder
from sophon.learning.vectors import to_blob
from sophon.messages import Message
from sophon.stores.contract import Store
from sophon.stores.sessions.contract import SessionRecord
from sophon.stores.vectors.contract import POLICIES, VectorRow
from sophon.stores.vectors.stored_policies import StoredPolicies, create_policy_cache, to_vector_row
from sophon.testing import VirtualClock
from sophon_hosting.store.sql_host_store import SqlHostStore

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def row(key: str, *numbers: float, namespace: str = "n", embedder: str = "e", hours: int = 0, session: str = ""):
    data = {"key": key, "odd": "\0\ud800"}
    at = NOON + timedelta(hours=hours)
    return VectorRow(namespace, key, embedder, len(numbers), to_blob(numbers), data, at, session)


async def test_vectors_are_kept_as_they_are_in_order_and_by_namespace_and_embedder(store: Store):
    rows = [row("a", 1.5, -2.25), row("b", 3.0), row("c", 1.0, embedder="f"), row("a", 9.0, namespace="m")]
    await store.vectors.put(rows)
    await store.vectors.put([])
    assert await store.vectors.load("n", "e", 10) == rows[:2]
    assert await store.vectors.load("n", "e", 1) == rows[1:2]
    assert await store.vectors.load("n", "e", 0) == []
    assert await store.vectors.load("m", "e", 10) == rows[3:]
    assert [await store.vectors.count(each) for each in ("n", "m", "x")] == [3, 1, 0]


async def test_a_replaced_vector_counts_as_new(store: Store):
    await store.vectors.put([row("a", 1.0), row("b", 2.0), row("a", 3.0)])
    assert await store.vectors.load("n", "e", 10) == [row("b", 2.0), row("a", 3.0)]


async def test_vectors_are_deleted_by_key_by_namespace_and_with_their_session(store: Store):
    await store.sessions.append("s", [SessionRecord("message", "r", Message("user", "hi"))], owner="ada")
    await store.vectors.put(
        [row("a", 1.0, session="s"), row("b", 1.0), row("c", 1.0), row("a", 1.0, namespace="m", session="t")]
    )
    await store.vectors.delete("n", ["b", "unknown"])
    await store.sessions.delete("s")
    assert [each.key for each in await store.vectors.load("n", "e", 10)] == ["c"]
    await store.vectors.delete("n")
    assert await store.vectors.count("m") == 1
    await store.vectors.delete("n", [])


async def test_old_vectors_and_those_beyond_the_bound_expire(store: Store):
    await store.vectors.put([row(str(hour), 1.0, hours=hour) for hour in range(5)])
    await store.vectors.put([row("other", 1.0, namespace="m", hours=-5)])
    assert await store.vectors.expire("n", None, 5) == 0
    assert await store.vectors.expire("n", NOON + timedelta(hours=1), 4) == 1
    assert await store.vectors.expire("n", NOON + timedelta(hours=2), 10) == 1
    assert await store.vectors.expire("n", None, 1) == 2
    assert [each.key for each in await store.vectors.load("n", "e", 10)] == ["4"]
    assert await store.vectors.count("m") == 1


async def test_versions_tell_what_is_new_and_only_that_is_loaded(store: Store):
    await store.vectors.put([row("a", 1.0), row("b", 2.0), row("other", 1.0, embedder="f")])
    before = await store.vectors.list_versions("n", "e", 10)
    assert list(before) == ["a", "b"]
    await store.vectors.put([row("a", 3.0)])
    after = await store.vectors.list_versions("n", "e", 10)
    assert list(after) == ["b", "a"]
    assert (after["b"], after["a"] > before["b"]) == (before["b"], True)
    assert list(await store.vectors.list_versions("n", "e", 1)) == ["a"]
    assert await store.vectors.load_keys("n", "e", ["a", "other", "unknown"]) == [row("a", 3.0)]
    assert await store.vectors.load_keys("n", "e", []) == []


async def test_a_process_hears_what_another_one_has_kept_and_taken_back(store: Store, clock: VirtualClock):
    embedder = HashingEmbedder(16)
    worker, hub = (create_policy_cache(store.vectors, embedder, clock) for _ in range(2))
    (vector,) = await embedder.embed(["review the parser"])
    assert await worker.lookup(vector) == []
    await hub.record(vector, "premium", "a/large", 0.9, session_id="s", run_id="r")
    await store.vectors.put([to_vector_row(each, embedder.name) for each in hub.take_pending()])
    clock.advance(29)
    assert await worker.lookup(vector) == []  # not read yet
    clock.advance(1)
    assert len(await worker.lookup(vector)) == 1
    await store.vectors.delete(POLICIES, hub.forget(run_id="r"))
    clock.advance(30)
    assert await worker.lookup(vector) == []


async def test_policies_outlive_the_process(store: Store, clock: VirtualClock):
    embedder = HashingEmbedder(16)
    cache = create_policy_cache(store.vectors, embedder, clock)
    (vector,) = await embedder.embed(["review the parser"])
    await cache.record(vector, "premium", "a/large", 0.9, session_id="s", run_id="r")
    await store.vectors.put([to_vector_row(each, embedder.name) for each in cache.take_pending()])

    restarted = create_policy_cache(store.vectors, embedder, clock)
    [found] = await restarted.lookup(vector)
    assert (found.tier, found.model, found.quality) == ("premium", "a/large", 0.9)
    other = create_policy_cache(store.vectors, HashingEmbedder(8), clock)
    assert await other.lookup([1.0] * 8) == []  # of another embedder: nothing can be compared


async def test_policies_that_cannot_be_read_are_named_once_and_skipped(store: Store, caplog: pytest.LogCaptureFixture):
    good = {"tier": "free", "model": "m", "quality": 0.9, "run_id": ""}
    rows = [
        VectorRow(POLICIES, "short", "e", 2, b"\0\0\0", good, NOON),
        VectorRow(POLICIES, "infinite", "e", 1, to_blob([float("inf")]), good, NOON),
        VectorRow(POLICIES, "data", "e", 1, to_blob([1.0]), {"tier": 1}, NOON),
        VectorRow(POLICIES, "good", "e", 1, to_blob([1.0]), good, NOON),
        VectorRow(POLICIES, "json", "e", 1, to_blob([1.0]), good, NOON),
    ]
    await store.vectors.put(rows)
    broken = 3
    if isinstance(store, SqlHostStore):
        statement = text("UPDATE vectors SET data = '{oops' WHERE key = 'json'")
        await store._database.write(lambda connection: connection.execute(statement))  # pyright: ignore[reportPrivateUsage]
        broken = 4
    with caplog.at_level(logging.WARNING, "sophon"):
        source = StoredPolicies(store.vectors, "e", 10)
        found = await source.load(list(await source.list_versions()))
    assert [each.key for each in found] == (["good"] if broken == 4 else ["good", "json"])
    [line] = [record.message for record in caplog.records]
    assert f"{broken} of the stored routing policies cannot be read and are skipped" in line
    assert "short: 3 bytes are no vector of 2 dimensions" in line
