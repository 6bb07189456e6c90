"""A store of SQLite in memory: a copy of its own, all or nothing, and nothing on a disk."""

from pathlib import Path

import pytest
from sqlalchemy import Connection

from sophon.errors import StoreError
from sophon.stores.sql.in_memory_database import MemoryDatabase
from sophon_hosting.store.sql_host_store import SqlHostStore


def add(connection: Connection, number: int) -> None:
    connection.exec_driver_sql(f"INSERT INTO probes (number, at) VALUES ({number}, '2026-01-01')")


def count(connection: Connection) -> int:
    return int(connection.exec_driver_sql("SELECT count(*) FROM probes").scalar_one())


async def test_each_has_a_copy_of_its_own_with_the_schema() -> None:
    one, other = MemoryDatabase(), MemoryDatabase()
    await one.write(lambda connection: add(connection, 1))
    assert (await one.read(count), await other.read(count)) == (1, 0)


async def test_it_needs_no_opening_and_closing_deletes_nothing() -> None:
    store = SqlHostStore("memory://")
    await store.sessions.get_or_create("s", "ada")
    await store.close()
    await store.open()
    assert (await store.sessions.get("s")).owner == "ada"


async def test_of_work_that_fails_nothing_is_written() -> None:
    database = MemoryDatabase()

    def fail(connection: Connection) -> None:
        add(connection, 1)
        raise LookupError

    with pytest.raises(LookupError):
        await database.write(fail)
    with pytest.raises(StoreError):
        await database.write(lambda connection: [add(connection, 2), add(connection, 2)])
    await database.write(lambda connection: add(connection, 3))
    assert await database.read(count) == 1


async def test_what_a_read_writes_is_rolled_back() -> None:
    database = MemoryDatabase()
    await database.read(lambda connection: connection.exec_driver_sql("BEGIN") and add(connection, 1))
    assert await database.read(count) == 0


async def test_sorting_more_than_its_cache_holds_makes_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SQLITE_TMPDIR", str(tmp_path / "missing"))  # where a file of SQLite would fail
    database = MemoryDatabase()
    numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000) "
    query = f"{numbers} SELECT i, hex(randomblob(50)) AS noise FROM n ORDER BY noise"
    assert len(await database.read(lambda connection: connection.exec_driver_sql(query).all())) == 100_000
    setting = await database.read(lambda connection: connection.exec_driver_sql("PRAGMA temp_store").scalar_one())
    assert setting == 2


async def test_its_space_is_that_of_its_pages() -> None:
    store = SqlHostStore("memory://")
    before = await store.maintenance.measure_space()
    for number in range(200):
        await store.sessions.get_or_create(f"session {number}", "ada")
    after = await store.maintenance.measure_space()
    assert before.free_bytes is None
    assert 0 < before.used_bytes < after.used_bytes
