"""What a large answer costs on disk: its own size, and little more."""

import sqlite3
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text

from sophon.stores.sql.store_url import resolve_url
from tests import postgres
from tests.long_texts import MEGABYTE, text_of

FACTOR = 1.5
"""At most so many times its size; it was four times before texts were stored once."""


def sqlite_bytes(folder: Path) -> int:
    with sqlite3.connect(folder / "sophon.db") as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return sum(each.stat().st_size for each in folder.glob("sophon.db*"))


def postgres_bytes() -> int:
    """The size of all columns, before compression."""
    tables = {
        "records": ["message", "data"],
        "events": ["data"],
        "runs": ["response", "checkpoint", "text"],
        "texts": ["text", "parts"],
        "outbound": ["payload"],
        "journal": ["result"],
    }
    sums = " + ".join(
        f"(SELECT coalesce(sum(octet_length({column})), 0) FROM {table})"
        for table, columns in tables.items()
        for column in columns
    )
    engine = create_engine(resolve_url(postgres.MIGRATED, Path()))
    with engine.connect() as connection:
        size = int(connection.execute(text(f"SELECT {sums}")).scalar_one())
    engine.dispose()
    return size


async def answer(served, content: str) -> None:
    listener = await served.listener()
    await listener.call("send_message", {"content": content, "session_id": "s"})
    if content.startswith("break"):
        await served.model.reached.wait()
        served.model.gate.set()
    await listener.outcome()


@pytest.mark.parametrize("verb", ["write", "look", "break"])
async def test_an_answer_is_stored_once_in_sqlite(serve, tmp_path: Path, verb: str) -> None:
    served = await serve()
    await answer(served, "hello")
    served.model.gate.clear()
    before = sqlite_bytes(tmp_path)
    await answer(served, f"{verb} {MEGABYTE}")
    assert MEGABYTE <= sqlite_bytes(tmp_path) - before <= FACTOR * MEGABYTE


@pytest.fixture
def postgres_url() -> str:
    """A database with the tables and no rows."""
    postgres.without_rows()
    return postgres.MIGRATED


@postgres.needs_postgres
async def test_an_answer_is_stored_once_in_postgres(postgres_url: str, serve) -> None:
    served = await serve(postgres_url)
    await answer(served, "hello")
    before = postgres_bytes()
    await answer(served, f"look {MEGABYTE}")
    assert MEGABYTE <= postgres_bytes() - before <= FACTOR * MEGABYTE


async def test_a_store_without_the_text_says_so_instead_of_failing(serve, tmp_path: Path) -> None:
    served = await serve()
    listener = await served.listener()
    sent = await listener.call("send_message", {"content": "write 100000", "session_id": "s"})
    await listener.outcome()
    assert (await served.get(f"/api/tasks/{sent['task_id']}"))["answer"] == text_of(100_000)
    with sqlite3.connect(tmp_path / "sophon.db") as connection:
        connection.execute("DELETE FROM texts")
    task = await served.get(f"/api/tasks/{sent['task_id']}")
    assert task["answer"] == "[a text of 100,000 characters, which is no longer in the store]"
