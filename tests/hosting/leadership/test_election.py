"""One process leads a duty; another takes over when it ends, is killed or cannot reach the store."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import cast

import pytest

from sophon.errors import StoreUnavailable
from sophon.stores.leases.lease import Lease
from sophon.stores.leases.sql import LeaseStore
from sophon.testing import VirtualClock
from sophon_hosting.leadership.contract import SoleLeadership
from sophon_hosting.leadership.election import LEADER_PREFIX, LeaderElection
from sophon_hosting.store.sql_host_store import SqlHostStore

LEASE = 9.0


class Leases:
    """The leases of a store that one process may not reach, or whose answers do not come."""

    def __init__(self, store: LeaseStore) -> None:
        self.store = store
        self.is_away = False
        self.hangs = asyncio.Event()
        self.hangs.set()
        self.writes = 0

    async def acquire(self, name: str, holder: str, seconds: float, details: object = None) -> Lease | None:
        self.writes += 1
        await self._reach()
        return await self.store.acquire(name, holder, seconds)

    async def release(self, name: str, holder: str) -> bool:
        await self._reach()
        return await self.store.release(name, holder)

    async def list(self, prefix: str = "") -> list[Lease]:
        await self._reach()
        return await self.store.list(prefix)

    async def _reach(self) -> None:
        await self.hangs.wait()
        if self.is_away:
            raise StoreUnavailable("down", "test", "away")


@dataclass
class Process:
    """A process that wants to lead, and the moments at which it began and ended to."""

    name: str
    leases: Leases
    clock: VirtualClock
    election_class: type[LeaderElection] = LeaderElection
    spans: list[list[float]] = field(default_factory=lambda: [])

    def __post_init__(self) -> None:
        self.election = self.election_class(cast(LeaseStore, self.leases), self.clock, self.name, lease_seconds=LEASE)
        self.task: asyncio.Task[None] | None = None

    @property
    def leads(self) -> bool:
        return bool(self.spans) and len(self.spans[-1]) == 1

    def start(self) -> None:
        self.task = asyncio.create_task(self.election.lead("schedules", self._work))

    async def stop(self) -> None:
        if self.task is not None:
            self.task.cancel()
            with suppress(asyncio.CancelledError):
                await self.task
            self.task = None

    async def _work(self) -> None:
        self.spans.append([self.clock.monotonic()])
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            self.spans[-1].append(self.clock.monotonic())


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock(auto=False)


@asynccontextmanager
async def running(clock: VirtualClock, *classes: type[LeaderElection]) -> AsyncGenerator[list[Process]]:
    store = SqlHostStore("memory://", clock=clock).leases
    processes = [Process(f"p{number}", Leases(store), clock, each) for number, each in enumerate(classes)]
    try:
        for process in processes:
            process.start()
            await clock.advance(0.1)
        yield processes
    finally:
        for process in processes:
            process.leases.hangs.set()
            await process.stop()


async def advance_until(clock: VirtualClock, condition: Callable[[], bool], most: float) -> float:
    """Let time pass in steps of 0.1 s until a condition holds; return how long it took."""
    for step in range(round(most * 10) + 1):
        if condition():
            return step / 10
        await clock.advance(0.1)
    raise AssertionError(f"not within {most} s")


def overlap(one: Process, other: Process) -> float:
    """Return for how long both have led; a span without an end lasts."""
    spans = [(a, *b) for a in map(tuple, one.spans) for b in map(tuple, other.spans)]
    found = 0.0
    for first, *second in spans:
        ends = [each[1] if len(each) > 1 else float("inf") for each in (first, second)]
        found = max(found, min(*ends, one.clock.monotonic()) - max(first[0], second[0]))
    return found


async def test_one_of_several_leads_and_the_others_write_nothing(clock: VirtualClock) -> None:
    async with running(clock, LeaderElection, LeaderElection, LeaderElection) as processes:
        for _ in range(100):
            await clock.advance(1)
            assert [process.leads for process in processes] == [True, False, False]
        assert [process.election.list_duties() for process in processes] == [["schedules"], [], []]
        assert [process.leases.writes for process in processes[1:]] == [0, 0]


async def test_one_that_ends_lets_another_start_at_once(clock: VirtualClock) -> None:
    async with running(clock, LeaderElection, LeaderElection) as (first, second):
        await first.stop()
        assert not first.leads
        assert await advance_until(clock, lambda: second.leads, LEASE / 3 + 0.2) <= LEASE / 3 + 0.1


async def test_another_takes_over_from_one_that_was_killed(clock: VirtualClock) -> None:
    async with running(clock, LeaderElection, LeaderElection) as (first, second):
        await clock.advance(20)
        assert first.task is not None
        first.leases.is_away = True  # a killed process releases nothing
        await first.stop()
        assert await advance_until(clock, lambda: second.leads, 2 * LEASE) <= LEASE + LEASE / 3 + 0.1


async def test_work_is_cancelled_before_another_can_lead(clock: VirtualClock) -> None:
    async with running(clock, LeaderElection, LeaderElection) as (first, second):
        await clock.advance(10)
        first.leases.is_away = True
        assert await advance_until(clock, lambda: not first.leads, LEASE) <= LEASE * 2 / 3 + 0.1
        assert not second.leads
        await advance_until(clock, lambda: second.leads, 2 * LEASE)
        assert overlap(first, second) <= 0


async def test_a_renewal_without_an_answer_does_not_keep_the_work_alive(clock: VirtualClock) -> None:
    async with running(clock, LeaderElection, LeaderElection) as (first, second):
        first.leases.hangs.clear()
        await advance_until(clock, lambda: second.leads, 2 * LEASE)
        assert not first.leads
        assert overlap(first, second) <= 0


class Careless(LeaderElection):
    """An election whose leader does not count the seconds: it works until the store says that it may not."""

    async def _lead(self, duty: str, since: float, work: Callable[[], Awaitable[None]]) -> bool:
        await work()
        return True


async def test_without_the_time_limit_two_lead_at_the_same_time(clock: VirtualClock) -> None:
    async with running(clock, Careless, LeaderElection) as (first, second):
        first.leases.is_away = True
        await advance_until(clock, lambda: second.leads, 2 * LEASE)
        await clock.advance(1)
        assert overlap(first, second) > 0


async def test_one_that_was_away_leads_again_when_nobody_else_does(clock: VirtualClock) -> None:
    async with running(clock, LeaderElection) as (only,):
        only.leases.is_away = True
        await advance_until(clock, lambda: not only.leads, LEASE)
        only.leases.is_away = False
        await advance_until(clock, lambda: only.leads, LEASE)


async def test_a_lease_that_another_holds_ends_the_work(clock: VirtualClock) -> None:
    async with running(clock, LeaderElection) as (only,):
        await only.leases.store.release(f"{LEADER_PREFIX}schedules", "p0")
        await only.leases.store.acquire(f"{LEADER_PREFIX}schedules", "stranger", 100.0)
        assert await advance_until(clock, lambda: not only.leads, LEASE) <= LEASE / 3 + 0.1


async def test_work_that_fails_is_led_again(clock: VirtualClock) -> None:
    store, attempts = SqlHostStore("memory://", clock=clock).leases, list[float]()
    election = LeaderElection(store, clock, "p", lease_seconds=LEASE)

    async def fail() -> None:
        attempts.append(clock.monotonic())
        raise RuntimeError("broken")

    leading = asyncio.create_task(election.lead("goals", fail))
    await advance_until(clock, lambda: len(attempts) >= 3, 3 * LEASE)
    leading.cancel()
    await asyncio.gather(leading, return_exceptions=True)
    assert election.list_duties() == []


async def test_a_process_of_its_own_leads_everything_without_a_lease() -> None:
    leadership, seen = SoleLeadership(), list[list[str]]()

    async def work() -> None:
        seen.append(leadership.list_duties())

    await leadership.lead("goals", work)
    assert seen == [["goals"]]
    assert leadership.list_duties() == []
    assert leadership.is_leader("goals")


class LateAnswer(Leases):
    """The store has written the lease, and its answer does not come."""

    def __init__(self, store: LeaseStore) -> None:
        super().__init__(store)
        self.written = asyncio.Event()

    async def acquire(self, name: str, holder: str, seconds: float, details: object = None) -> Lease | None:
        await self.store.acquire(name, holder, seconds)
        self.written.set()
        return await asyncio.get_running_loop().create_future()


async def test_a_candidate_that_is_stopped_while_it_asks_leaves_no_lease() -> None:
    clock = VirtualClock(auto=False)
    leases = LateAnswer(SqlHostStore("memory://", clock=clock).leases)
    process = Process("a", leases, clock)
    process.start()
    async with asyncio.timeout(60):
        await leases.written.wait()
    assert len(await leases.list(LEADER_PREFIX)) == 1
    await process.stop()
    assert (process.spans, await leases.list(LEADER_PREFIX)) == ([], [])
