"""The index of messages in an SQLite file: filled in parts, made anew when damaged, without words that were deleted."""

import logging
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import Connection, Engine, event

from sophon.messages import Message
from sophon.stores.message_search import sqlite_table
from sophon.stores.sessions.contract import SessionRecord
from sophon_hosting.store.sql_host_store import SqlHostStore
from tests.databases import copy_database

CANARY = "xylophonist"


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqlHostStore]:
    copy_database(tmp_path)
    store = SqlHostStore("sqlite:///data/sophon.db", folder=tmp_path)
    await store.open()
    yield store
    await store.close()


async def write(store: SqlHostStore, session: str, *texts: str) -> None:
    records = [SessionRecord("message", "run", Message("user", text)) for text in texts]
    await store.sessions.append(session, records, owner="ada")


async def count(store: SqlHostStore, query: str) -> int:
    return len((await store.message_search.search("ada", query, limit=100)).items)


def execute(folder: Path, *statements: str) -> None:
    with closing(sqlite3.connect(folder / "data" / "sophon.db", isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(statement)


def files_with(folder: Path, word: str) -> list[str]:
    return [each.name for each in folder.rglob("*") if each.is_file() and word.encode() in each.read_bytes().lower()]


OLDER = ("DROP TABLE message_words", "INSERT INTO message_index VALUES ('indexed_up_to', 0)")
"""What makes a store of one whose messages are older than the index."""


async def test_messages_of_an_older_store_are_indexed_in_parts_while_new_ones_come(store: SqlHostStore, tmp_path: Path):
    for number in range(3):
        await write(store, f"s{number}", *(["tea"] * 5))
    execute(tmp_path, *OLDER)
    first = await store.message_search.search("ada", "tea")
    assert (first.items, first.is_complete) == ([], False)

    assert await store.message_search.index_missing(4) == 4
    await write(store, "s0", "tea")
    await write(store, "s1", "tea")
    assert await count(store, "tea") == 6
    await store.sessions.delete("s2")
    parts = [await store.message_search.index_missing(4) for _ in range(4)]
    assert parts == [4, 4, 0, 0]
    hits = await store.message_search.search("ada", "tea", limit=100)
    assert (len(hits.items), hits.is_complete) == (12, True)
    assert len({(hit.session_id, hit.seq) for hit in hits.items}) == 12


async def test_a_session_of_an_older_store_can_be_deleted_and_copied_before_it_is_indexed(
    store: SqlHostStore, tmp_path: Path
):
    await write(store, "a", "tea", "tea")
    await write(store, "b", "tea")
    await store.sessions.fork("a", "branch", branch=True)
    execute(tmp_path, *OLDER)
    await store.sessions.fork("a", "c")
    await store.sessions.delete("b")
    while await store.message_search.index_missing(1):
        pass
    assert await count(store, "tea") == 4


async def test_a_store_that_misses_nothing_is_only_read(store: SqlHostStore, tmp_path: Path):
    commits: list[Connection] = []

    def record(connection: Connection) -> None:
        commits.append(connection)

    event.listen(Engine, "commit", record)
    try:
        assert await store.message_search.index_missing() == 0
        await store.message_search.purge()
        await write(store, "s", "tea")
        assert len(commits) == 1
        assert await store.message_search.index_missing() == 0
        await store.message_search.purge()
        assert len(commits) == 1
        execute(tmp_path, "DROP TABLE message_words")
        assert await store.message_search.index_missing() == 1
        assert len(commits) == 2
    finally:
        event.remove(Engine, "commit", record)


async def test_an_older_store_without_texts_becomes_complete(store: SqlHostStore, tmp_path: Path):
    execute(tmp_path, "INSERT INTO message_index VALUES ('indexed_up_to', 0)")
    assert await store.message_search.index_missing() == 0
    assert (await store.message_search.search("ada", "tea")).is_complete


@pytest.mark.parametrize(
    "damage",
    [
        "DROP TABLE message_words",
        "UPDATE message_words_data SET block = x'00ff00ff'",
        "DELETE FROM message_words_data",
        "DROP TABLE message_words_idx",
    ],
)
async def test_a_damaged_index_is_named_once_and_filled_again(
    store: SqlHostStore, tmp_path: Path, damage: str, caplog: pytest.LogCaptureFixture
):
    await write(store, "s", *(["tea"] * 5))
    execute(tmp_path, damage)
    with caplog.at_level(logging.WARNING, "sophon"):
        assert not (await store.message_search.search("ada", "tea")).is_complete
        while await store.message_search.index_missing():
            pass
        assert await count(store, "tea") == 5
    assert len(caplog.records) <= 1


@pytest.mark.parametrize(
    "damage", ["UPDATE message_words_data SET block = x'00ff00ff'", "DROP TABLE message_words_idx"]
)
async def test_a_damaged_index_stops_no_message_and_no_deletion(store: SqlHostStore, tmp_path: Path, damage: str):
    await write(store, "s", "tea")
    await write(store, "t", "tea")
    execute(tmp_path, damage)
    await write(store, "s", "tea again")
    execute(tmp_path, damage)
    await store.sessions.delete("t")
    while await store.message_search.index_missing():
        pass
    assert await count(store, "tea") == 2


async def test_a_deletion_leaves_no_word_in_any_file(store: SqlHostStore, tmp_path: Path):
    for number in range(50):
        await write(store, f"n{number}", f"neighbour {number}")
    await write(store, "s", f"I am a {CANARY}", "more")
    await store.message_search.purge()
    assert files_with(tmp_path, CANARY) != []
    await store.sessions.delete("s")
    assert files_with(tmp_path, CANARY) == []
    assert await count(store, "neighbour") == 50


async def test_a_library_without_fts5_stores_messages_and_says_what_is_missing(
    store: SqlHostStore, monkeypatch: pytest.MonkeyPatch
):
    def say_no(connection: Connection) -> bool:
        return False

    monkeypatch.setattr(sqlite_table, "create", say_no)
    monkeypatch.setattr(sqlite_table, "is_available", say_no)
    await write(store, "s", "tea")
    with pytest.raises(Exception, match="FTS5"):
        await store.message_search.search("ada", "tea")
    assert await store.message_search.index_missing() == 0
    await store.sessions.delete("s")
