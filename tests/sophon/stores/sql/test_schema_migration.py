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


def migrate(path: Path, revision: str, *, down: bool = False) -> None:
    config = Config()
    config.set_main_option("script_location", str(Path(schema_migration.__file__).parent / "migrations"))
    engine = create_engine(f"sqlite:///{path}")
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        if down or (revision == FIRST and path.stat().st_size):
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


async def test_records_events_traces_and_calls_are_found_under_new_keys_and_after_going_back(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    path.touch()
    migrate(path, "0019")
    connection = sqlite3.connect(path)
    for number, session in ((1, "s"), (2, "t")):
        connection.execute(TOLD, (session, "ada", THEN, THEN))
        connection.execute("INSERT INTO event_logs VALUES (?, ?, ?)", (number, session, 7))
        for seq in (6, 7):
            event = (number, seq, f"{session}{seq}", "r", "{}", THEN)
            connection.execute(
                "INSERT INTO events (log, seq, name, task_id, data, at) VALUES (?, ?, ?, ?, ?, ?)", event
            )
        trace = (number, f"trace of {session}", "r", "{}", THEN)
        connection.execute("INSERT INTO traces (log, name, task_id, data, at) VALUES (?, ?, ?, ?, ?)", trace)
    connection.execute(SAID, ("message", '{"role": "user", "content": "hello"}', THEN))
    connection.execute("INSERT INTO journal VALUES ('r/step', 'c', 'r', 'pay', NULL)")
    connection.commit()
    connection.close()

    async def check(*names: str) -> None:
        store = SqlStore("sqlite:///s.db", folder=tmp_path)
        await store.open()
        assert [(each.seq, each.name) for each in await store.events.list_after("t", 0)] == list(enumerate(names, 6))
        assert [each.name for each in await store.events.list_traces("s", "r")] == ["trace of s"]
        assert [(each.seq, each.message) for each in await store.sessions.list_records("s")] == [
            (1, Message("user", "hello"))
        ]
        assert list(await store.journal.load_entries("r/step")) == ["c"]
        await store.events.append("t", [LoggedEvent("new", {}, "r")])
        await store.close()

    await check("t6", "t7")
    migrate(path, "0019", down=True)
    connection = sqlite3.connect(path)
    assert connection.execute("SELECT last_seq FROM event_logs ORDER BY number").fetchall() == [(7,), (8,)]
    connection.close()
    await check("t6", "t7", "new")
