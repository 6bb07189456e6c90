"""Queries that run often, or that users wait for, read an index and not a table, however large the tables are."""

import sqlite3
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, Engine, event, select
from sqlalchemy.dialects import sqlite

from sophon.testing import VirtualClock
from sophon_hosting.store.runs.sql_statements import FIRST_EARLIER
from sophon_hosting.store.sql_host_store import SqlHostStore
from sophon_hosting.store.tables import runs
from tests.databases import copy_database


async def plans(folder: Path, query: Callable[[SqlHostStore], Awaitable[Any]]) -> list[str]:
    """How SQLite executes the statements of a query."""
    copy_database(folder)
    store = SqlHostStore("sqlite:///data/sophon.db", folder=folder, clock=VirtualClock())
    executed: list[tuple[str, Any]] = []

    def record(_connection: Connection, _cursor: Any, statement: str, parameters: Any, *_: Any) -> None:
        executed.append((statement, parameters))

    await store.open()
    await store.sessions.get_or_create("s", "ada")
    event.listen(Engine, "before_cursor_execute", record)
    try:
        await query(store)
    finally:
        event.remove(Engine, "before_cursor_execute", record)
        await store.close()
    with sqlite3.connect(folder / "data" / "sophon.db") as database:
        rows = [database.execute(f"EXPLAIN QUERY PLAN {each}", values).fetchall() for each, values in executed]
    database.close()
    return [str(row[3]) for each in rows for row in each]


@pytest.mark.parametrize(
    ("query", "index"),
    [
        (lambda store: store.sessions.list_page(), "sessions_by_update"),
        (lambda store: store.sessions.list_page("ada"), "sessions_by_owner"),
        (
            lambda store: store.sessions.list_page("ada", cursor="MjAyNi0wMS0wMVQwMDowMDowMCswMDowMCBz"),
            "sessions_by_owner",
        ),
        (lambda store: store.runs.list_pending(), "runs_signalled"),
        (lambda store: store.runs.list_pending(), "runs_unfinished"),
        (lambda store: store.runs.list_running(), "runs_unfinished"),
        (lambda store: store.runs.list(status="suspended"), "runs_unfinished"),
        (lambda store: store.runs.list(status="failed"), "runs_unsuccessful"),
        (lambda store: store.approvals.list(), "approvals_open"),
        (lambda store: store.runs.list_by_account("schedule", "sch_1", 10), "sqlite_autoindex_inbound"),
    ],
    ids=[
        *(
            "sessions",
            "own sessions",
            "next page",
            "signalled runs",
            "queued runs",
            "running runs",
            "waiting runs",
            "failed runs",
        ),
        *("open approvals", "firings of a schedule"),
    ],
)
async def test_it_reads_an_index_and_sorts_nothing(tmp_path: Path, query: Any, index: str) -> None:
    found = await plans(tmp_path, query)
    assert any(f"INDEX {index}" in each for each in found), found
    assert not [each for each in found if "TEMP B-TREE" in each or each in {"SCAN sessions", "SCAN runs"}], found


async def test_branches_of_a_conversation_are_found_by_their_family(tmp_path: Path) -> None:
    found = await plans(tmp_path, lambda store: store.sessions.list_page("ada"))
    others = [each for each in found if "sessions_1" in each]
    assert others
    assert not [each for each in others if not each.startswith("SEARCH sessions_1 USING INDEX sessions_by_family")], (
        found
    )


def test_the_earlier_run_of_a_session_is_found_without_reading_those_that_ended(tmp_path: Path) -> None:
    copy_database(tmp_path)
    query = select(runs.c.id, FIRST_EARLIER).where(runs.c.id == "r").compile(dialect=sqlite.dialect())
    with sqlite3.connect(tmp_path / "data" / "sophon.db") as database:
        found = [str(row[3]) for row in database.execute(f"EXPLAIN QUERY PLAN {query}", ["r"]).fetchall()]
    database.close()
    assert "SEARCH earlier USING INDEX runs_unfinished_of_session (session_id=? AND number<?)" in found
    assert not [each for each in found if "TEMP B-TREE" in each or "SCAN" in each.replace("SCALAR", "")], found


async def test_unfinished_runs_are_found_by_their_index_and_sorted(tmp_path: Path) -> None:
    [found, _] = await plans(tmp_path, lambda store: store.runs.list_unfinished())
    assert found == "SEARCH runs USING INDEX runs_unfinished (status=?)"
