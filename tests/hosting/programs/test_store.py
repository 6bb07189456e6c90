"""`sophon store`, and what `sophon doctor` says about the store."""

import asyncio
import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from sophon.messages import Message, Usage
from sophon.stores.sessions.contract import SessionRecord
from sophon.stores.usage.contract import Period, UsageRow
from sophon.testing import VirtualClock
from sophon_hosting.store.events.logged_event import LoggedEvent
from sophon_hosting.store.sql_host_store import SqlHostStore
from sophon_hosting.store_lease import StoreLease
from tests.databases import SQLITE, copy_database

Command = Callable[..., Any]
LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)


async def fill(folder: Path, sessions: int = 40) -> None:
    """Write sessions with a long message each, events and usage of long ago."""
    store = SqlHostStore(SQLITE, folder=folder, clock=VirtualClock(start=LONG_AGO))
    await store.open()
    for number in range(sessions):
        await store.sessions.append(f"s{number}", [SessionRecord("message", "r", Message("user", "x" * 9000))])
    await store.events.append("s0", [LoggedEvent("task_completed", {}, "r")] * 3)
    old = Period("2020-01-01", "2020-01")
    await store.usage.settle(None, UsageRow("p", "m", "reply", "s0", "r", Usage(3, 4, 5), old, LONG_AGO))
    await store.close()


async def count(folder: Path) -> tuple[int, int, int]:
    """Return how many sessions, events and rows of usage there are."""
    store = SqlHostStore(SQLITE, folder=folder)
    await store.open()
    totals = await store.usage.list_totals()
    counts = len(await store.sessions.list()), len(await store.events.list_after("s0", 0)), len(totals)
    await store.close()
    return counts


async def delete_sessions(folder: Path) -> None:
    store = SqlHostStore(SQLITE, folder=folder)
    await store.open()
    for session in await store.sessions.list():
        if session.id != "s0":
            await store.sessions.delete(session.id)
    await store.close()


@pytest.fixture
def file(folder: Path) -> Path:
    """A database with old data."""
    copy_database(folder)
    asyncio.run(fill(folder))
    return folder / "data" / "sophon.db"


def damage(file: Path) -> bytes:
    content = bytearray(file.read_bytes())
    middle = len(content) // 2
    content[middle : middle + 40_000] = b"\xa5" * min(40_000, len(content) - middle)
    file.write_bytes(content)
    return bytes(content)


def test_an_intact_store_passes_the_check(sophon: Command, file: Path) -> None:
    before = file.read_bytes()
    done = sophon("store", "check")
    assert (done.code, done.out) == (0, "The store is intact.\n")
    assert sophon("store", "check", "--json").json == []
    assert file.read_bytes() == before


def test_the_check_lists_the_damage_fails_and_changes_nothing(sophon: Command, file: Path) -> None:
    content = damage(file)
    done = sophon("store", "check")
    assert (done.code, "intact" in done.out, bool(done.out.strip())) == (1, False, True)
    listed = sophon("store", "check", "--json")
    assert (listed.code, listed.json) == (1, done.out.splitlines())
    assert file.read_bytes() == content


def test_pruning_deletes_what_retention_allows_and_says_so(sophon: Command, file: Path, folder: Path) -> None:
    done = sophon("store", "prune", "--set", "Retention.Events=1")
    assert done.code == 0
    assert "3 events" in done.out
    assert asyncio.run(count(folder)) == (40, 0, 1)
    done = sophon("store", "prune", "--json", "--set", "Retention.Usage=1")
    assert (done.code, done.json["usage"]) == (0, 1)
    assert asyncio.run(count(folder)) == (40, 0, 0)


def test_without_settings_pruning_keeps_what_people_may_read(sophon: Command, file: Path, folder: Path) -> None:
    assert sophon("store", "prune").code == 0
    assert asyncio.run(count(folder)) == (40, 3, 1)


def test_a_vacuum_makes_the_file_smaller_and_keeps_what_is_in_it(sophon: Command, file: Path, folder: Path) -> None:
    asyncio.run(delete_sessions(folder))
    before = file.stat().st_size
    done = sophon("store", "vacuum")
    assert (done.code, " before, " in done.out) == (0, True)
    assert file.stat().st_size < before - 200_000
    assert asyncio.run(count(folder)) == (1, 3, 1)


def test_a_vacuum_gives_an_earlier_file_the_pages_of_a_new_one(sophon: Command, file: Path, folder: Path) -> None:
    def pages() -> tuple[object, ...]:
        with closing(sqlite3.connect(file, isolation_level=None)) as database:
            return tuple(database.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_size", "journal_mode"))

    new = pages()
    with closing(sqlite3.connect(file, isolation_level=None)) as database:
        for statement in ("PRAGMA journal_mode=DELETE", "PRAGMA page_size=4096", "VACUUM", "PRAGMA journal_mode=WAL"):
            database.execute(statement).fetchall()
    assert pages() == (4096, "wal")
    assert sophon("store", "vacuum").code == 0
    assert pages() == new == (1024, "wal")
    assert asyncio.run(count(folder)) == (40, 3, 1)


def test_while_a_host_works_on_the_store_nothing_is_rewritten(sophon: Command, file: Path, folder: Path) -> None:
    before = file.stat().st_size
    with StoreLease(SQLITE, folder=folder):
        done = sophon("store", "vacuum")
    assert (done.code != 0, "stop it" in done.err, file.stat().st_size) == (True, True, before)


def test_a_damaged_store_is_not_rewritten(sophon: Command, file: Path) -> None:
    content = damage(file)
    done = sophon("store", "vacuum")
    assert (done.code != 0, "sophon store check" in done.err) == (True, True)
    assert file.read_bytes() == content


def test_the_doctor_tells_size_and_free_space_of_an_intact_store(sophon: Command, file: Path) -> None:
    [found] = [each for each in sophon("doctor", "--json").json if each["id"] == "store"]
    assert found["grade"] == "ok"
    assert "is intact" in found["text"]
    assert "are free" in found["text"]


def test_the_doctor_names_the_damage_and_its_fix_and_changes_nothing(sophon: Command, file: Path) -> None:
    content = damage(file)
    done = sophon("doctor", "--json")
    [found] = [each for each in done.json if each["id"] == "store"]
    assert (done.code, found["grade"]) == (1, "failed")
    assert "is damaged" in found["text"]
    assert found["fix"]
    assert file.read_bytes() == content
