"""One process works on a store at a time; whoever comes second is told who has it."""

import os
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text

from sophon.errors import StoreError
from sophon.stores.sql.store_url import resolve_url
from sophon_hosting.store_lease import StoreLease
from tests import postgres


@pytest.fixture
def database() -> str:
    """Of a PostgreSQL, with nothing in it."""
    postgres.empty()
    return postgres.URL


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=postgres.needs_postgres)])
def url(request: pytest.FixtureRequest) -> str:
    return "sqlite:///data/sophon.db" if request.param == "sqlite" else request.getfixturevalue("database")


def test_the_second_is_told_who_has_it_and_what_to_do(url: str, tmp_path: Path) -> None:
    with StoreLease(url, folder=tmp_path), pytest.raises(StoreError) as told, StoreLease(url, folder=tmp_path):
        pass
    assert f"process {os.getpid()} on " in told.value.problem
    assert "stop it or choose another Store.Url" in told.value.problem


def test_it_can_be_taken_again_once_it_was_let_go(url: str, tmp_path: Path) -> None:
    for _ in range(2):
        with StoreLease(url, folder=tmp_path):
            pass


def test_who_was_refused_takes_nothing_with_him(url: str, tmp_path: Path) -> None:
    with StoreLease(url, folder=tmp_path):
        with pytest.raises(StoreError), StoreLease(url, folder=tmp_path):
            pass
        with pytest.raises(StoreError, match=f"process {os.getpid()} on "), StoreLease(url, folder=tmp_path):
            pass


def test_who_has_it_can_make_sure(url: str, tmp_path: Path) -> None:
    with StoreLease(url, folder=tmp_path) as lock:
        lock.renew()
        with pytest.raises(StoreError), StoreLease(url, folder=tmp_path):
            pass


def cut_off() -> None:
    """End the connections that hold locks, as a server does that is started again."""
    engine = create_engine(resolve_url(postgres.URL, Path()))
    held = "locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
    with engine.begin() as connection:
        connection.execute(text(f"SELECT pg_terminate_backend(pid) FROM pg_locks WHERE {held}"))
    engine.dispose()


@postgres.needs_postgres
def test_a_lock_that_was_lost_is_taken_again(database: str) -> None:
    with StoreLease(database) as lock:
        cut_off()
        lock.renew()
        with pytest.raises(StoreError, match=f"process {os.getpid()}"), StoreLease(database):
            pass


@postgres.needs_postgres
def test_a_lock_that_another_has_taken_meanwhile_is_told(database: str) -> None:
    with StoreLease(database) as lock:
        cut_off()
        with StoreLease(database), pytest.raises(StoreError, match="is already using this store"):
            lock.renew()


@postgres.needs_postgres
def test_the_processes_of_a_group_have_it_together(database: str) -> None:
    with StoreLease(database, is_shared=True) as first, StoreLease(database, is_shared=True) as second:
        first.renew()
        second.renew()


@postgres.needs_postgres
@pytest.mark.parametrize("is_shared", [True, False])
def test_a_process_with_a_queue_of_its_own_and_a_group_exclude_each_other(database: str, *, is_shared: bool) -> None:
    with (
        StoreLease(database, is_shared=is_shared),
        pytest.raises(StoreError, match=f"process {os.getpid()} .* another kind of queue.*Queue.Backend"),
        StoreLease(database, is_shared=not is_shared),
    ):
        pass


@postgres.needs_postgres
def test_a_group_that_lost_its_lock_to_a_single_process_is_told(database: str) -> None:
    with StoreLease(database, is_shared=True) as lock:
        cut_off()
        with StoreLease(database), pytest.raises(StoreError, match="another kind of queue"):
            lock.renew()


def test_a_file_is_for_one_process_whatever_its_queue(tmp_path: Path) -> None:
    with (
        StoreLease("sqlite:///one.db", folder=tmp_path, is_shared=True),
        pytest.raises(StoreError, match="is already using this store"),
        StoreLease("sqlite:///one.db", folder=tmp_path, is_shared=True),
    ):
        pass


def test_stores_beside_each_other_have_locks_of_their_own(tmp_path: Path) -> None:
    with StoreLease("sqlite:///one.db", folder=tmp_path), StoreLease("sqlite:///two.db", folder=tmp_path):
        assert sorted(each.name for each in tmp_path.iterdir()) == ["one.db.lock", "two.db.lock"]


def test_a_link_to_a_database_leads_to_the_same_lock(tmp_path: Path) -> None:
    (tmp_path / "link.db").symlink_to(tmp_path / "sophon.db")
    with (
        StoreLease("sqlite:///sophon.db", folder=tmp_path),
        pytest.raises(StoreError, match="is already using this store"),
    ):
        StoreLease("sqlite:///link.db", folder=tmp_path).__enter__()


def test_the_home_folder_is_found_where_the_store_finds_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    with StoreLease("sqlite:///~/sophon.db", folder=tmp_path):
        assert (tmp_path / "home" / "sophon.db.lock").exists()


def test_a_lock_of_a_process_that_is_gone_is_no_lock(tmp_path: Path) -> None:
    (tmp_path / "sophon.db.lock").write_text("process 4194305 on elsewhere, and more than the next one will write")
    with StoreLease("sqlite:///sophon.db", folder=tmp_path):
        assert (tmp_path / "sophon.db.lock").read_text().startswith(f"process {os.getpid()} on ")


def test_a_store_in_memory_needs_none(tmp_path: Path) -> None:
    with StoreLease("memory://", folder=tmp_path), StoreLease("memory://", folder=tmp_path):
        assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("sqlite:///file/sophon.db", "exists"),
        ("sqlite:///folder.db", "Is a directory"),
        ("mysql://host/database", "unknown kind of store"),
        ("nothing", "no URL"),
    ],
)
def test_a_place_where_no_lock_can_be_is_told(url: str, told: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    (tmp_path / "folder.db.lock").mkdir()
    with pytest.raises(StoreError, match=told), StoreLease(url, folder=tmp_path):
        pass
