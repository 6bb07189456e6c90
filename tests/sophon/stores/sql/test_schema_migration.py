"""A database of an earlier version is brought up to date with all that is in it, and can go back."""

import sqlite3
from pathlib import Path

import pytest
from alembic import command
from alembic.config import Config
from sqlalchemy import create_engine

from sophon.messages import Message, Usage
from sophon.stores import LoggedEvent, Run
from sophon.stores.sql import schema_migration
from sophon.stores.sql_store import SqlStore

FIRST = "0001"
TOLD = "INSERT INTO sessions (id, owner, title, last_seq, said, created_at, updated_at) VALUES (?, ?, '', 1, 1, ?, ?)"
SAID = "INSERT INTO records (session, seq, kind, run_id, message, data, said, at) VALUES (1, 1, ?, 'r', ?, '{}', 1, ?)"
THEN = "2026-01-01 00:00:00.000000"


def migrate(path: Path, revision: str) -> None:
    config = Config()
    config.set_main_option("script_location", str(Path(schema_migration.__file__).parent / "migrations"))
    engine = create_engine(f"sqlite:///{path}")
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        if revision == FIRST and path.stat().st_size:
            command.downgrade(config, revision)
        else:
            command.upgrade(config, revision)
    engine.dispose()


def tables(path: Path) -> set[str]:
    connection = sqlite3.connect(path)
    try:
        return {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    finally:
        connection.close()


@pytest.fixture
def first(tmp_path: Path) -> Path:
    """A database of the first version, with a session of one message in it."""
    path = tmp_path / "s.db"
    path.touch()
    migrate(path, FIRST)
    connection = sqlite3.connect(path)
    connection.execute(TOLD, ("s", "ada", THEN, THEN))
    connection.execute(SAID, ("message", '{"role": "user", "content": "hello"}', THEN))
    connection.commit()
    connection.close()
    return path


async def test_a_database_of_the_first_version_keeps_what_is_in_it(first: Path):
    assert "runs" not in tables(first)
    store = SqlStore("sqlite:///s.db", folder=first.parent)
    await store.open()
    assert (await store.sessions.load_history("s")).messages == [Message("user", "hello")]
    assert (await store.runs.accept(Run("r", "s", "bob"))).created
    assert await store.events.append("s", [LoggedEvent("task_queued", {}, "r")]) == 1
    assert (await store.sessions.get("s")).owner == "ada"
    await store.close()


async def test_usage_of_before_unknown_prices_is_read_as_priced(first: Path):
    connection = sqlite3.connect(first)
    connection.execute(
        "INSERT INTO attempts (day, month, provider, model, purpose, session_id, run_id, input_tokens, output_tokens, "
        "cached_input_tokens, cost_micros, at) "
        "VALUES ('2026-01-01', '2026-01', 'p', 'm', 'reply', 's', 'r', 3, 2, 1, 9, ?)",
        (THEN,),
    )
    connection.commit()
    connection.close()
    store = SqlStore("sqlite:///s.db", folder=first.parent)
    await store.open()
    [total] = await store.usage.list_totals()
    assert total.usage == Usage(3, 2, 9, 1, 0)
    assert await store.usage.mark_alerted("p", "2026-01-01", "DailyTokens:1")
    await store.close()


async def test_going_back_to_the_first_version_keeps_the_conversations(first: Path):
    before = tables(first)
    store = SqlStore("sqlite:///s.db", folder=first.parent)
    await store.open()
    await store.runs.accept(Run("r", "s", "ada"))
    await store.close()
    migrate(first, FIRST)
    assert tables(first) - {"sqlite_sequence"} == before
    await store.open()
    assert (await store.sessions.load_history("s")).messages == [Message("user", "hello")]
    assert await store.runs.list() == []
    await store.close()
