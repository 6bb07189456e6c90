"""The files of an SQLite store are for its own account only; those that are not become so."""

import logging
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from sophon.errors import StoreError
from sophon.stores.sessions.contract import SessionRecord
from sophon_hosting.store.sql_host_store import SqlHostStore


@pytest.fixture(autouse=True)
def permissive_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


def modes(folder: Path) -> dict[str, int]:
    return {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}


async def write(store: SqlHostStore) -> None:
    await store.sessions.append("s", [SessionRecord("cancelled", "r")])


async def test_database_wal_and_folder_are_private(tmp_path: Path) -> None:
    store = SqlHostStore("sqlite:///data/new/sophon.db", folder=tmp_path)
    await store.open()
    await write(store)
    assert modes(tmp_path / "data" / "new") == dict.fromkeys(("sophon.db", "sophon.db-wal", "sophon.db-shm"), 0o600)
    assert modes(tmp_path) == {"data": 0o700}
    assert modes(tmp_path / "data") == {"new": 0o700}
    await store.close()


async def test_a_readable_database_is_tightened_when_it_is_opened_with_one_line(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for name in ("sophon.db", "sophon.db-wal", "sophon.db-shm"):
        (tmp_path / name).touch()
        (tmp_path / name).chmod(0o644)
    store = SqlHostStore(f"sqlite:///{tmp_path}/sophon.db")
    with caplog.at_level(logging.WARNING, "sophon"):
        await store.open()
        await write(store)
        assert set(modes(tmp_path).values()) == {0o600}
        await store.close()
        await store.open()
        await store.close()

    (line,) = [record.getMessage() for record in caplog.records if "sophon.db" in record.getMessage()]
    assert "others could read" in line


async def test_a_file_that_is_no_database_keeps_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "letters.db"
    path.write_text("Dear Ada, ...")
    path.chmod(0o644)
    with pytest.raises(StoreError, match="no SQLite database"):
        await SqlHostStore(f"sqlite:///{path}").open()
    assert modes(tmp_path)["letters.db"] == 0o644


async def test_a_database_that_is_shared_with_its_group_stays_shared(tmp_path: Path) -> None:
    (tmp_path / "sophon.db").touch()
    (tmp_path / "sophon.db").chmod(0o660)
    store = SqlHostStore(f"sqlite:///{tmp_path}/sophon.db")
    await store.open()
    await store.close()
    assert modes(tmp_path)["sophon.db"] == 0o660
