"""Damage of an SQLite file is found before anything is written, and nothing is overwritten."""

import os
from pathlib import Path

import pytest

from sophon.errors import StoreError, StoreUnavailable
from sophon.messages import Message
from sophon.stores.contract import Store
from sophon.stores.sessions.contract import SessionRecord
from sophon.stores.sql.sqlite_integrity import NOT_A_DATABASE
from sophon_hosting.store.sql_host_store import SqlHostStore
from tests.databases import SQLITE, copy_database
from tests.refusing_writes import limit_pages

LARGE = SessionRecord("message", "r", Message("user", "x" * 500_000))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    copy_database(tmp_path)
    return tmp_path / "data" / "sophon.db"


def store_at(file: Path) -> SqlHostStore:
    return SqlHostStore(SQLITE, folder=file.parent.parent)


async def filled(file: Path) -> SqlHostStore:
    store = store_at(file)
    await store.open()
    for number in range(40):
        await store.sessions.append(f"s{number}", [SessionRecord("message", "r", Message("user", "x" * 900))])
    await store.close()
    return store


async def test_garbage_in_the_middle_is_found_and_left_as_it_is(file: Path) -> None:
    store = await filled(file)
    content = bytearray(file.read_bytes())
    content[len(content) // 2 : len(content) // 2 + 40_000] = b"\xa5" * min(40_000, len(content) - len(content) // 2)
    file.write_bytes(content)
    with pytest.raises(StoreError, match=r"the file is damaged .* restore a backup, or save what can be read"):
        await store.maintenance.verify()
    assert file.read_bytes() == bytes(content)
    assert await store.maintenance.find_damage()


@pytest.mark.parametrize("keep", [300, 20_000])
async def test_a_truncated_file_is_found(file: Path, keep: int) -> None:
    os.truncate(file, keep)
    with pytest.raises(StoreError, match="malformed"):
        await store_at(file).maintenance.verify()


async def test_a_file_of_another_kind_is_found(file: Path) -> None:
    file.write_bytes(b"x" * 5000)
    with pytest.raises(StoreError, match=r"it is no SQLite database.*; choose another file in Store\.Url"):
        await store_at(file).maintenance.verify()
    assert await store_at(file).maintenance.find_damage() == [NOT_A_DATABASE]
    assert file.read_bytes() == b"x" * 5000


async def test_a_log_of_garbage_is_not_taken_for_an_empty_one(file: Path) -> None:
    Path(f"{file}-wal").write_bytes(b"garbage " * 100)
    with pytest.raises(StoreError, match="is no write-ahead log"):
        await store_at(file).maintenance.verify()


async def test_a_log_beside_an_empty_database_is_not_deleted(file: Path) -> None:
    os.truncate(file, 0)
    log = Path(f"{file}-wal")
    log.write_bytes(b"x" * 100)
    with pytest.raises(StoreError, match=r"it is empty, but sophon\.db-wal beside it is not"):
        await store_at(file).maintenance.verify()
    assert log.stat().st_size == 100


async def test_an_intact_file_and_none_at_all_pass(file: Path) -> None:
    store = await filled(file)
    await store.maintenance.verify()
    assert await store.maintenance.find_damage() == []
    file.unlink()
    await store.maintenance.verify()


async def test_a_full_disk_is_told_from_an_error_of_the_program(file: Path) -> None:
    store = store_at(file)
    await store.open()
    await limit_pages(store, more=0)
    with pytest.raises(StoreUnavailable) as caught:
        await store.sessions.append("s", [LARGE])
    assert (caught.value.kind, caught.value.reason) == ("full", "the disk of the store is full")
    assert str(file) not in str(caught.value)
    assert not store.health.is_available
    await limit_pages(store, more=10_000)
    await store.sessions.append("s", [LARGE])
    assert store.health.is_available
    await store.close()


async def test_a_damaged_page_found_at_run_time_makes_the_store_unavailable_for_good(file: Path) -> None:
    store = await filled(file)
    await store.open()
    content = bytearray(file.read_bytes())
    content[4096:] = b"\xa5" * (len(content) - 4096)
    file.write_bytes(content)
    with pytest.raises(StoreUnavailable, match="the store is damaged"):
        await store.sessions.list()
    store.health.record_success()
    assert store.health.kind == "damaged"
    await store.close()


async def test_deleted_rows_give_their_space_back(file: Path) -> None:
    store = store_at(file)
    await store.open()
    await store.sessions.append("s", [LARGE])
    await store.sessions.delete("s")
    before = (await store.maintenance.measure_space()).used_bytes
    assert await store.maintenance.reclaim_space() > 400_000
    assert (await store.maintenance.measure_space()).used_bytes < before - 400_000
    assert Path(f"{file}-wal").stat().st_size == 0
    await store.close()


async def test_every_store_takes_a_probe(store: Store) -> None:
    await store.maintenance.probe()
    await store.maintenance.probe()
    assert await store.maintenance.find_damage() == []
