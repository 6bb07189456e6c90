"""What every store promises about quotas."""

import asyncio
from datetime import UTC, datetime, timedelta

from sophon.stores.contract import Store

T0 = datetime(2026, 11, 23, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


async def take(store: Store, quota: str, at: datetime, limit: int = 2) -> bool:
    return await store.quotas.take(quota, at=at, since=at - HOUR, limit=limit)


async def test_a_quota_is_used_up_and_free_again_when_its_window_has_moved(store: Store):
    minutes = [0, 20, 40, 61, 70, 81]
    taken = [await take(store, "a", T0 + timedelta(minutes=each)) for each in minutes]
    assert taken == [True, True, False, True, False, True]
    assert await store.quotas.count("a", since=T0) == 2  # what is out of the window is deleted


async def test_quotas_do_not_share_their_uses(store: Store):
    assert await take(store, "a", T0, limit=1)
    assert await take(store, "b\x00", T0, limit=1)
    assert not await take(store, "a", T0, limit=1)
    assert await store.quotas.count("c", since=T0) == 0


async def test_a_limit_of_zero_allows_nothing(store: Store):
    assert not await take(store, "a", T0, limit=0)


async def test_concurrent_callers_do_not_pass_the_limit_together(store: Store):
    taken = await asyncio.gather(*(take(store, "a", T0, limit=3) for _ in range(8)))
    assert sum(taken) == 3


async def test_old_uses_expire(store: Store):
    await take(store, "a", T0)
    await take(store, "b", T0 + HOUR)
    assert await store.quotas.expire(T0 + HOUR) == 1
    assert await store.quotas.count("b", since=T0) == 1
