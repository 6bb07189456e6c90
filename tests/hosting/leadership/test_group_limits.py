"""Limits hold over the processes of a group; with counts of each process alone they do not."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from sophon import ModelRequest, Services
from sophon.messages import Usage
from sophon.risk import Risk
from sophon.security.sliding_windows import RateExceeded, SlidingWindows
from sophon.stores.contract import Store
from sophon.stores.usage.contract import Period, ProviderLimits, Reservation
from sophon.testing import FunctionModel, VirtualClock
from sophon_hosting.client_api.authentication.login_throttle import (
    FIRST_DELAY_SECONDS,
    FORGET_SECONDS,
    FREE_FAILURES,
    LoginThrottle,
)
from sophon_hosting.client_api.authentication.shared_login_failures import (
    FLUSH_SECONDS,
    SharedLoginFailures,
    address_scope,
)
from sophon_hosting.host import Host, RunRequest
from sophon_hosting.leadership.membership import GroupMembership
from sophon_hosting.queue.errors import TooManyMessages
from sophon_hosting.store.factory import host_store_from_url
from sophon_middlewares.chains import twelve
from sophon_middlewares.guards.rate_limit import find_limits
from tests.store_urls import store_url as store_url

LIMITS = {"Guards": {"RateLimit": {"MessagesPerMinute": 4, "Tools": {"calculator": {"PerHour": 3}}}}}

OpenStore = Callable[[VirtualClock], Any]


@pytest.fixture
async def open_store(store_url: str, tmp_path: Path) -> AsyncIterator[OpenStore]:
    """Opens a store of its own over one database, as another process does."""
    async with AsyncExitStack() as stack:

        async def open_one(clock: VirtualClock) -> Store:
            store = host_store_from_url(store_url, folder=tmp_path, clock=clock)
            await store.open()
            stack.push_async_callback(store.close)
            return store

        yield open_one


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock(auto=False)


async def answer(request: ModelRequest) -> str:
    return "hello"


async def make_hosts(open_store: OpenStore, clock: VirtualClock, *, is_shared: bool) -> list[Host]:
    """Return two hosts of one database; without `is_shared` each counts for itself."""
    hosts: list[Host] = []
    for _ in range(2):
        services = Services(models=FunctionModel(answer), store=await open_store(clock), clock=clock, settings=LIMITS)
        membership = GroupMembership(services, is_shared=is_shared)
        hosts.append(Host(services, twelve(services), membership=membership))
    return hosts


async def count_accepted(hosts: list[Host]) -> int:
    async def send(host: Host) -> bool:
        try:
            await host.accept(RunRequest(text="hello", owner="ada", channel="telegram"))
        except TooManyMessages:
            return False
        return True

    return sum(await asyncio.gather(*(send(host) for host in hosts for _ in range(6))))


async def test_the_messages_of_a_sender_are_counted_over_all_processes(
    open_store: OpenStore, clock: VirtualClock
) -> None:
    assert await count_accepted(await make_hosts(open_store, clock, is_shared=True)) == 4


async def test_processes_that_count_alone_accept_more(open_store: OpenStore, clock: VirtualClock) -> None:
    hosts = await make_hosts(open_store, clock, is_shared=False)
    assert all(type(host.services.security.rate_windows) is SlidingWindows for host in hosts)
    for host in hosts:  # each has loaded what is stored before any of them reaches the limit
        await host.accept(RunRequest(text="hello", owner="ada", channel="telegram"))
    assert await count_accepted(hosts) > 2


async def count_calls(hosts: list[Host]) -> int:
    """Return how many of twelve calls of a tool, judged at the same time in both processes, may run."""
    used = 0

    async def judge(host: Host) -> None:
        nonlocal used
        services = host.services
        limits = find_limits(services.settings.guards.rate_limit, "calculator", Risk.NONE, "ada")
        found = await services.security.rate_windows.reserve(limits, services.clock, services.store.rate_windows.load)
        if not isinstance(found, RateExceeded):
            used += 1
            found.use(services.clock.monotonic())

    await asyncio.gather(*(judge(host) for host in hosts for _ in range(6)))
    return used


async def test_the_calls_of_a_tool_are_counted_over_all_processes(open_store: OpenStore, clock: VirtualClock) -> None:
    assert await count_calls(await make_hosts(open_store, clock, is_shared=True)) == 3


async def test_processes_that_count_alone_run_more_calls(open_store: OpenStore, clock: VirtualClock) -> None:
    assert await count_calls(await make_hosts(open_store, clock, is_shared=False)) > 3


async def test_a_call_that_does_not_run_gives_its_place_back(open_store: OpenStore, clock: VirtualClock) -> None:
    first, second = await make_hosts(open_store, clock, is_shared=True)
    services = first.services
    limits = find_limits(services.settings.guards.rate_limit, "calculator", Risk.NONE, "ada")
    reserved = [
        await services.security.rate_windows.reserve(limits, clock, services.store.rate_windows.load) for _ in range(3)
    ]
    assert await count_calls([second]) == 0
    for each in reserved:
        assert not isinstance(each, RateExceeded)
        each.release()
    async with asyncio.timeout(30):
        while await count_calls([second]) == 0:
            await asyncio.sleep(0)


async def test_a_limit_that_an_event_does_not_count_against_keeps_its_place(
    open_store: OpenStore, clock: VirtualClock
) -> None:
    first, second = await make_hosts(open_store, clock, is_shared=True)
    services = first.services
    limits = find_limits(services.settings.guards.rate_limit, "calculator", Risk.NONE, "ada")
    for _ in range(3):
        found = await services.security.rate_windows.reserve(limits, clock, services.store.rate_windows.load)
        assert not isinstance(found, RateExceeded)
        found.use(clock.monotonic(), [])
    async with asyncio.timeout(30):
        while await count_calls([second]) == 0:
            await asyncio.sleep(0)


async def test_a_budget_is_reserved_over_all_processes(open_store: OpenStore, clock: VirtualClock) -> None:
    stores: list[Store] = [await open_store(clock), await open_store(clock)]
    period, limits = Period("2026-01-01", "2026-01"), ProviderLimits(daily_tokens=1000)
    found = await asyncio.gather(
        *(store.usage.reserve("p", period, Usage(100, 0, 0), limits) for store in stores for _ in range(10))
    )
    assert sum(isinstance(each, Reservation) for each in found) == 10


@pytest.mark.parametrize("is_shared", [True, False])
async def test_failed_log_ins_of_an_address_count_in_all_processes(
    open_store: OpenStore, clock: VirtualClock, *, is_shared: bool
) -> None:
    throttles: list[LoginThrottle] = []
    clocks = [clock, VirtualClock()]
    for each in clocks:
        windows = (await open_store(each)).rate_windows
        shared = SharedLoginFailures(windows, each, FORGET_SECONDS) if is_shared else None
        throttles.append(LoginThrottle(each, shared=shared))
    stored, scope = (await open_store(clock)).rate_windows, address_scope("198.51.100.7")
    for number in range(FREE_FAILURES):
        await throttles[0].delay_failure("198.51.100.7", f"wrong{number}")
    await clock.advance(FLUSH_SECONDS)
    async with asyncio.timeout(30):
        while is_shared and len(await stored.load(scope, clock.now() - timedelta(hours=1), 100)) < FREE_FAILURES:
            await asyncio.sleep(0)
    await throttles[1].delay_failure("198.51.100.7", "wrong")
    assert (FIRST_DELAY_SECONDS in clocks[1].slept) is is_shared
