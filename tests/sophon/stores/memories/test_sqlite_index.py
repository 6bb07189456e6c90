"""The index of words in an SQLite file: used, repaired when it is damaged, and without a trace of what was deleted."""

import logging
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import pytest

from sophon import Services
from sophon.learning.hashing_embedder import HashingEmbedder
from sophon.stores.memories import sql
from sophon.stores.memories.contract import MemoryEntry
from sophon.testing import FunctionModel
from sophon_hosting.store.sql_host_store import SqlHostStore
from sophon_middlewares.chains import twelve
from sophon_middlewares.learning.learning import Learning
from sophon_middlewares.learning.scoring import Scoring
from sophon_middlewares.memory.memory import Memory
from tests.databases import copy_database

CANARY = "Xylophonist"


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqlHostStore]:
    copy_database(tmp_path)
    store = SqlHostStore("sqlite:///data/sophon.db", folder=tmp_path)
    await store.open()
    yield store
    await store.close()


def execute(folder: Path, statement: str) -> None:
    with closing(sqlite3.connect(folder / "data" / "sophon.db", isolation_level=None)) as connection:
        connection.execute(statement)


def files_with(folder: Path, word: str) -> list[str]:
    variants = (word.encode(), word.lower().encode())
    return [each.name for each in folder.rglob("*") if each.is_file() and any(v in each.read_bytes() for v in variants)]


async def test_a_search_uses_the_index(store: SqlHostStore, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sql, "_scan", None)
    assert await store.memories.search("cats", scope="user") == []
    await store.memories.write(MemoryEntry("1", "the cat sleeps"))
    assert [each.id for each in await store.memories.search("cats", scope="user")] == ["1"]


@pytest.mark.parametrize(
    "damage",
    [
        "DROP TABLE memory_words",
        "UPDATE memory_words_data SET block = x'00ff00ff'",
        "DELETE FROM memory_words_data",
        "DROP TABLE memory_words_idx",
    ],
)
async def test_a_damaged_index_is_named_once_and_rebuilt(
    store: SqlHostStore, tmp_path: Path, damage: str, caplog: pytest.LogCaptureFixture
):
    for number in range(3):
        await store.memories.write(MemoryEntry(str(number), f"cat {number}"))
    execute(tmp_path, damage)
    with caplog.at_level(logging.WARNING, "sophon"):
        for _ in range(2):
            assert [each.id for each in await store.memories.search("cats", scope="user")] == ["2", "1", "0"]
    assert len(caplog.records) == 1
    await store.memories.write(MemoryEntry("3", "cat"))
    await store.memories.delete("0")
    assert sorted(each.id for each in await store.memories.search("cats", scope="user")) == ["1", "2", "3"]


async def test_a_deletion_leaves_nothing_in_any_file(store: SqlHostStore, tmp_path: Path):
    async def answer(_: object) -> str:
        return f"You are a {CANARY}."

    settings = {"Planning": {"Mode": "Never"}, "Learning": {"Enabled": True}, "Memory": {"Embedder": "Embeddings"}}
    services = Services(models=FunctionModel(answer), store=store, settings=settings, embedder=HashingEmbedder())
    chain = twelve(services, {"Learning": Learning(), "Scoring": Scoring(), "Memory": Memory()})
    for number in range(20):
        await services.memory.write(MemoryEntry(f"n{number}", f"neighbour {number}", sources=()))
    await services.memory.write(MemoryEntry("m", f"Ada is a {CANARY}", sources=(), entities=(CANARY,)))
    await chain.run(services.turn(f"I am a {CANARY}", session_id="s"))
    assert files_with(tmp_path, CANARY) != []
    await store.sessions.delete("s")
    assert [each.entry.id for each in await services.memory.search(CANARY, scope="user", limit=1)] == ["m"]
    await services.memory.forget("m")
    assert await services.memory.search(CANARY, scope="user") == []
    assert files_with(tmp_path, CANARY) == []
