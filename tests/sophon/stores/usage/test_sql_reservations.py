"""Claims on a budget hold across processes and do not outlive the process that made them."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from sophon.messages import Usage
from sophon.stores.usage.contract import Period, ProviderLimits, Reservation, Spending
from sophon.testing import VirtualClock
from sophon_hosting.store.sql_host_store import SqlHostStore

TODAY = Period("2026-01-31", "2026-01")
ROOM_FOR_ONE = ProviderLimits(daily_tokens=100)
CLAIM = Usage(60, 0, 5)


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock(auto=False)


@pytest.fixture
async def store(tmp_path: Path, clock: VirtualClock) -> AsyncIterator[SqlHostStore]:
    store = SqlHostStore("sqlite:///s.db", folder=tmp_path, clock=clock)
    await store.open()
    yield store
    await store.close()


CLAIMANT = """
import asyncio, os, sys
from pathlib import Path
from sophon.messages import Usage
from sophon.stores.usage.contract import Period, ProviderLimits, Reservation
from sophon_hosting.store.sql_host_store import SqlHostStore
from sophon.testing import VirtualClock

async def main():
    store = SqlHostStore("sqlite:///s.db", folder=Path(sys.argv[1]), clock=VirtualClock(auto=False))
    await store.open()
    claims = [
        store.usage.reserve("p", Period("2026-01-31", "2026-01"), Usage(60, 0, 5), ProviderLimits(daily_tokens=100))
        for _ in range(10)
    ]
    answers = await asyncio.gather(*claims)
    print(sum(isinstance(answer, Reservation) for answer in answers), flush=True)
    sys.stdin.readline()
    os._exit(9)

asyncio.run(main())
"""


async def test_a_claim_of_a_process_that_died_is_dropped_when_it_is_in_the_way(store: SqlHostStore, tmp_path: Path):
    subprocess.run([sys.executable, "-c", CLAIMANT, str(tmp_path)], input=b"\n", stdout=subprocess.PIPE, check=False)
    assert await store.usage.reserved() == 60
    assert isinstance(await store.usage.reserve("p", TODAY, CLAIM, ROOM_FOR_ONE), Reservation)
    assert await store.usage.get_spending("p", TODAY) == Spending(60, 5)


async def test_a_claim_of_a_process_that_died_is_dropped_at_open(store: SqlHostStore, tmp_path: Path):
    subprocess.run([sys.executable, "-c", CLAIMANT, str(tmp_path)], input=b"\n", stdout=subprocess.PIPE, check=False)
    await store.close()
    await store.open()
    assert await store.usage.reserved() == 0
    assert await store.usage.get_spending("p", TODAY) == Spending(0, 0)


async def test_of_many_processes_at_once_one_gets_the_room_that_there_is(store: SqlHostStore, tmp_path: Path):
    program, pipe = [sys.executable, "-c", CLAIMANT, str(tmp_path)], subprocess.PIPE
    processes = [subprocess.Popen(program, stdin=pipe, stdout=pipe) for _ in range(4)]
    through = [int(process.stdout.readline()) for process in processes if process.stdout]
    refusal = await store.usage.reserve("p", TODAY, CLAIM, ROOM_FOR_ONE)
    for process in processes:
        process.communicate(b"\n")
    assert sum(through) == 1
    assert refusal == Spending(60, 5)


async def test_a_claim_is_dropped_after_an_hour(store: SqlHostStore, clock: VirtualClock):
    claim = await store.usage.reserve("p", TODAY, CLAIM, ROOM_FOR_ONE)
    assert isinstance(claim, Reservation)
    await clock.advance(3600)
    assert await store.usage.reserve("p", TODAY, CLAIM, ROOM_FOR_ONE) == Spending(60, 5)
    await clock.advance(1)
    assert isinstance(await store.usage.reserve("p", TODAY, CLAIM, ROOM_FOR_ONE), Reservation)
    await store.usage.release(claim)
    assert await store.usage.get_spending("p", TODAY) == Spending(60, 5)


async def test_a_living_process_keeps_its_claims_when_another_store_is_opened(store: SqlHostStore, tmp_path: Path):
    await store.usage.reserve("p", TODAY, CLAIM, ROOM_FOR_ONE)
    other = SqlHostStore("sqlite:///s.db", folder=tmp_path, clock=VirtualClock(auto=False))
    await other.open()
    assert await other.usage.reserve("p", TODAY, CLAIM, ROOM_FOR_ONE) == Spending(60, 5)
    await other.close()


async def test_a_claim_whose_caller_was_cancelled_is_given_back(store: SqlHostStore):
    task = asyncio.ensure_future(store.usage.reserve("p", TODAY, CLAIM, ROOM_FOR_ONE))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await store.journal.delete("what stands behind it in the queue")
    assert await store.usage.reserved() == 0
    assert await store.usage.get_spending("p", TODAY) == Spending(0, 0)
