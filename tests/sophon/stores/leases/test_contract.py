"""What every store promises about leases."""

import asyncio

import pytest

from sophon.stores.contract import Store
from sophon.stores.leases.lease import Lease
from sophon.stores.sql.schema_migration import REVISIONS
from sophon.testing import VirtualClock

LONG = 3600.0
SHORT = 0.001


async def acquire(store: Store, name: str, holder: str, seconds: float = LONG) -> Lease:
    lease = await store.leases.acquire(name, holder, seconds)
    assert lease is not None
    return lease


async def acquire_after_end(store: Store, clock: VirtualClock, name: str, holder: str) -> Lease:
    """Acquire a lease that lasts for `SHORT`: by the virtual clock, or by that of the server."""
    clock.advance(1)
    async with asyncio.timeout(30):
        while (lease := await store.leases.acquire(name, holder, LONG)) is None:
            pass
    return lease


async def test_a_lease_has_one_holder_until_it_is_released(store: Store) -> None:
    lease = await acquire(store, "leader", "a")
    assert (lease.name, lease.holder, lease.token > 0) == ("leader", "a", True)
    assert await store.leases.acquire("leader", "b", LONG) is None
    assert not await store.leases.release("leader", "b")
    assert await store.leases.list() == [lease]
    assert await store.leases.release("leader", "a")
    assert await store.leases.list() == []
    assert (await acquire(store, "leader", "b")).holder == "b"
    assert not await store.leases.release("leader", "a")


async def test_renewing_keeps_the_token_and_prolongs_the_lease(store: Store) -> None:
    first = await acquire(store, "leader", "a", 60)
    second = await acquire(store, "leader", "a", LONG)
    assert second.token == first.token
    assert second.until > first.until


async def test_a_lease_that_is_not_renewed_ends_and_the_next_holder_has_a_greater_token(
    store: Store, clock: VirtualClock
) -> None:
    first = await acquire(store, "leader", "a", SHORT)
    second = await acquire_after_end(store, clock, "leader", "b")
    assert second.token > first.token
    assert await store.leases.acquire("leader", "a", LONG) is None
    assert [each.holder for each in await store.leases.list()] == ["b"]


async def test_a_released_name_never_has_an_earlier_token_again(store: Store) -> None:
    tokens: list[int] = []
    for holder in "aba":
        tokens.append((await acquire(store, "leader", holder)).token)
        await store.leases.release("leader", holder)
    assert tokens == sorted(set(tokens))


async def test_a_holder_whose_lease_ended_gets_it_again_while_nobody_else_took_it(
    store: Store, clock: VirtualClock
) -> None:
    await acquire(store, "leader", "a", 0)
    clock.advance(1)
    assert not await store.leases.release("leader", "a")
    await acquire(store, "leader", "a", 0)
    assert await store.leases.list() == []
    assert (await acquire(store, "leader", "a")).holder == "a"


async def test_leases_are_listed_by_prefix_and_those_that_ended_are_not(store: Store) -> None:
    for name in ("host:b", "host:a", "host%", "leader"):
        await acquire(store, name, "x")
    await acquire(store, "host:gone", "y", 0)
    assert [each.name for each in await store.leases.list("host:")] == ["host:a", "host:b"]
    assert [each.name for each in await store.leases.list("host%")] == ["host%"]


async def test_a_lease_says_which_schema_its_process_uses(store: Store) -> None:
    expected = REVISIONS[-1]
    assert (await acquire(store, "host:a", "a")).schema == expected


async def test_a_negative_duration_is_refused(store: Store) -> None:
    with pytest.raises(ValueError, match="cannot last -1 seconds"):
        await store.leases.acquire("leader", "a", -1)


async def test_of_many_who_ask_at_once_one_gets_the_lease(store: Store) -> None:
    found = await asyncio.gather(*(store.leases.acquire("leader", f"h{number}", LONG) for number in range(20)))
    assert sum(each is not None for each in found) == 1


async def test_a_holder_states_something_of_itself_with_each_renewal(store: Store) -> None:
    first = await store.leases.acquire("host:a", "a", LONG, {"role": "worker", "turns": 1})
    assert first is not None
    assert first.details == {"role": "worker", "turns": 1}
    await store.leases.acquire("host:a", "a", LONG, {"role": "worker", "turns": 2})
    assert [lease.details for lease in await store.leases.list()] == [{"role": "worker", "turns": 2}]
    await store.leases.acquire("host:a", "a", LONG)
    assert [lease.details for lease in await store.leases.list()] == [{}]
