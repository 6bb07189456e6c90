"""What every store promises about the times of rate-limited events."""

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from sophon.security.sliding_windows import RateExceeded, RateLimit
from sophon.stores import InMemoryStore
from sophon.stores.contract import Store
from sophon.stores.rate_windows import in_memory
from sophon.stores.rate_windows.contract import RateEvent
from sophon.testing import VirtualClock
from sophon_hosting.store.factory import host_store_from_url

T0 = datetime(2026, 11, 23, 12, 0, 0, 123456, UTC)


def at(seconds: float) -> datetime:
    return T0 + timedelta(seconds=seconds)


async def add(store: Store, scope: str, *seconds: float) -> None:
    await store.rate_windows.add([RateEvent(scope, at(each)) for each in seconds])


async def load(store: Store, scope: str, since: float = -1, limit: int = 100) -> list[float]:
    return [(each - T0).total_seconds() for each in await store.rate_windows.load(scope, at(since), limit)]


async def test_the_newest_times_of_a_scope_are_loaded_in_their_order(store: Store) -> None:
    await add(store, "a", 1, 2, 3)
    await add(store, "b", 9)
    await add(store, "a", 4.000001)
    assert await load(store, "a") == [1, 2, 3, 4.000001]
    assert await load(store, "a", limit=2) == [3, 4.000001]
    assert await load(store, "a", since=2) == [3, 4.000001]
    assert await load(store, "a", limit=0) == []
    assert await load(store, "A") == []


async def test_an_unknown_scope_has_no_times(store: Store) -> None:
    await add(store, "a")
    assert await load(store, "a") == []


async def test_any_text_is_a_scope(store: Store) -> None:
    for scope in ("tool/files.write/ann \ud83d", "x\x00", "x\x1a"):
        await add(store, scope, 1)
        assert await load(store, scope) == [1]


async def test_old_events_are_deleted(store: Store) -> None:
    await add(store, "a", 1, 2, 3)
    await add(store, "b", 1)
    assert await store.rate_windows.expire(at(2)) == 2
    assert await store.rate_windows.expire(at(2)) == 0
    assert (await load(store, "a"), await load(store, "b")) == ([2, 3], [])


async def test_another_process_finds_them(
    host_store: Store, store_url: str, store_folder: Path, clock: VirtualClock
) -> None:
    await add(host_store, "a", 1)
    other = host_store_from_url(store_url, folder=store_folder, clock=clock)
    await other.open()
    assert await load(other, "a") == [1]
    await other.close()


async def test_the_store_in_memory_is_bounded_although_nobody_sweeps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(in_memory, "MAX_EVENTS", 3)
    store = InMemoryStore()
    await add(store, "a", 1, 2)
    await add(store, "b", 3, 4)
    assert (await load(store, "a"), await load(store, "b")) == ([2], [3, 4])


MINUTE = RateLimit("sender", "sender/ada", 3, 60.0)
ALL = RateLimit("messages", "messages", 4, 60.0)


async def test_reservations_at_the_same_time_never_exceed_a_limit(store: Store) -> None:
    found = await asyncio.gather(*(store.rate_windows.reserve([ALL, MINUTE]) for _ in range(6)))
    exceeded = [each for each in found if isinstance(each, RateExceeded)]
    assert len(exceeded) == 3
    assert {each.limit for each in exceeded} == {MINUTE}
    assert all(0 < (each.retry_after_seconds or 0) <= 60 for each in exceeded)
    # Those that were refused have added nothing to the other limit.
    other = RateLimit("sender", "sender/bob", 3, 60.0)
    assert not isinstance(await store.rate_windows.reserve([ALL, other]), RateExceeded)
    assert isinstance(await store.rate_windows.reserve([ALL, other]), RateExceeded)


async def test_what_is_cancelled_makes_room(store: Store) -> None:
    reserved = [await store.rate_windows.reserve([MINUTE]) for _ in range(3)]
    assert isinstance(await store.rate_windows.reserve([MINUTE]), RateExceeded)
    assert isinstance(reserved[1], list)
    await store.rate_windows.cancel(reserved[1])
    await store.rate_windows.cancel(reserved[1])
    assert isinstance(await store.rate_windows.reserve([MINUTE]), list)
    assert isinstance(await store.rate_windows.reserve([MINUTE]), RateExceeded)


async def test_what_is_older_than_the_window_does_not_count(store: Store, clock: VirtualClock) -> None:
    short = RateLimit("tool", "tool/x", 1, 0.001)
    assert isinstance(await store.rate_windows.reserve([short]), list)
    clock.advance(1)
    async with asyncio.timeout(30):
        while isinstance(await store.rate_windows.reserve([short]), RateExceeded):
            pass


async def test_a_limit_with_a_date_counts_from_then_on(store: Store) -> None:
    begin = datetime(2026, 1, 1, tzinfo=UTC)
    day = RateLimit("shield", "shield.day", 1, 25 * 3600.0, since=begin - timedelta(days=1))
    assert isinstance(await store.rate_windows.reserve([day]), list)
    found = await store.rate_windows.reserve([day])
    assert isinstance(found, RateExceeded)
    assert found.retry_after_seconds is None
    later = RateLimit("shield", "shield.day", 1, 25 * 3600.0, since=datetime(2100, 1, 1, tzinfo=UTC))
    assert isinstance(await store.rate_windows.reserve([later]), list)
