"""Reservations in a database that processes of several machines use: those of live processes stay."""

import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from sqlalchemy import Connection, text

from sophon.messages import Usage
from sophon.stores.sql import process_locks
from sophon.stores.usage import sql_reservations
from sophon.stores.usage.contract import Period, ProviderLimits, Reservation
from sophon.testing import VirtualClock
from sophon_hosting.store.sql_host_store import SqlHostStore
from tests import postgres

pytestmark = postgres.needs_postgres

TODAY = Period("2026-01-31", "2026-01")
CLAIM = Usage(60, 0, 5)
ROOM_FOR_ONE = ProviderLimits(daily_tokens=100)

CLAIMANT = """
import asyncio, os, sys
from sophon.messages import Usage
from sophon.stores.usage.contract import Period, ProviderLimits
from sophon_hosting.store.sql_host_store import SqlHostStore
from sophon.testing import VirtualClock

async def main():
    store = SqlHostStore(sys.argv[1], clock=VirtualClock(auto=False))
    await store.open()
    await store.usage.reserve("p", Period("2026-01-31", "2026-01"), Usage(60, 0, 5), ProviderLimits())
    print("reserved", flush=True)
    sys.stdin.readline()
    os._exit(9)

asyncio.run(main())
"""


@pytest.fixture
def empty() -> None:
    postgres.without_rows()


@pytest.fixture
async def store(empty: None) -> AsyncIterator[SqlHostStore]:
    store = SqlHostStore(postgres.MIGRATED, folder=Path(), clock=VirtualClock(auto=False))
    await store.open()
    yield store
    await store.close()


@pytest.fixture
def claimant(store: SqlHostStore) -> Iterator[subprocess.Popen[bytes]]:
    """Another process, which has reserved 60 tokens."""
    pipe = subprocess.PIPE
    process = subprocess.Popen([sys.executable, "-c", CLAIMANT, postgres.MIGRATED], stdin=pipe, stdout=pipe)
    assert process.stdout is not None
    assert process.stdout.readline() == b"reserved\n"
    yield process
    process.kill()
    process.communicate()


async def move_to_other_machine(store: SqlHostStore) -> None:
    """Have the reservation look as if its process ran elsewhere, under a number that nobody has here."""
    statement = text("UPDATE claims SET host = 'elsewhere', pid = 4194304")

    def move(connection: Connection) -> None:
        connection.execute(statement)

    await store._database.write(move)


async def test_a_reservation_of_a_live_process_of_another_machine_stays(
    store: SqlHostStore, claimant: subprocess.Popen[bytes]
) -> None:
    await move_to_other_machine(store)
    other = SqlHostStore(postgres.MIGRATED, folder=Path(), clock=VirtualClock(auto=False))
    await other.open()
    await other.close()
    assert await store.usage.reserved() == 60
    assert not isinstance(await store.usage.reserve("p", TODAY, CLAIM, ROOM_FOR_ONE), Reservation)


async def test_a_reservation_of_a_process_of_another_machine_that_died_is_released(
    store: SqlHostStore, claimant: subprocess.Popen[bytes]
) -> None:
    await move_to_other_machine(store)
    claimant.communicate(b"\n")
    for _ in range(1000):  # the server notices the end of the connection by itself
        if isinstance(await store.usage.reserve("p", TODAY, CLAIM, ROOM_FOR_ONE), Reservation):
            break
    else:
        pytest.fail("the reservation of the dead process stayed")
    assert await store.usage.reserved() == 60


async def test_without_the_lock_the_reservation_of_a_live_process_is_lost(
    store: SqlHostStore, claimant: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sql_reservations, "is_process_known", lambda connection, process_id: False)
    assert isinstance(await store.usage.reserve("p", TODAY, CLAIM, ROOM_FOR_ONE), Reservation)


async def test_own_reservations_stay_when_the_store_is_opened_again(store: SqlHostStore) -> None:
    assert isinstance(await store.usage.reserve("p", TODAY, CLAIM, ROOM_FOR_ONE), Reservation)
    await store.close()
    await store.open()
    assert await store.usage.reserved() == 60
    assert len(process_locks.current_process_id()) == 16
