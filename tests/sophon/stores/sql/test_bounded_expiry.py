"""Deletion of old rows never holds the writer for long: no transaction of it deletes more than a batch."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, Engine, Table, Text, delete, event, func, insert, select

from sophon.stores.sql.batched_deletion import EXPIRE_BATCH_SIZE
from sophon.stores.sql.column_types import JsonText, SafeText, UtcTime, to_key
from sophon.stores.sql.database import Database
from sophon.stores.sql.schema import metadata
from sophon.stores.vectors.contract import POLICIES
from sophon.testing import VirtualClock
from sophon_hosting.features.schedules.stored_schedules import stored_schedules
from sophon_hosting.store.sql_host_store import SqlHostStore
from tests import postgres
from tests.databases import SQLITE, copy_database

OLD, NOW = datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 6, 1, tzinfo=UTC)
ROWS = 2 * EXPIRE_BATCH_SIZE + 1

Expire = Callable[[SqlHostStore], Awaitable[object]]
KINDS: dict[str, tuple[str, dict[str, Any], Expire]] = {
    "sub_agents": ("sub_agents", {}, lambda store: store.sub_agents.expire(NOW)),
    "channel state": ("notes", {"kind": "seen"}, lambda store: store.channel_state.expire("seen", NOW)),
    "trajectories": ("trajectories", {}, lambda store: store.trajectories.expire(NOW)),
    "feedback": ("feedback", {}, lambda store: store.trajectories.expire(NOW)),
    "old vectors": ("vectors", {"namespace": POLICIES}, lambda store: store.vectors.expire(POLICIES, NOW, ROWS)),
    "many vectors": ("vectors", {"namespace": POLICIES}, lambda store: store.vectors.expire(POLICIES, None, 0)),
    "old snapshots": ("snapshots", {"owner": "ada"}, lambda store: store.snapshots.expire(NOW, ROWS)),
    "many snapshots": ("snapshots", {"owner": "ada"}, lambda store: store.snapshots.expire(None, 0)),
    "sent entries": ("outbound", {"status": "sent", "run_id": None}, lambda store: store.outbox.expire(NOW)),
    "dead letters": ("outbound", {"status": "dead", "run_id": None}, lambda store: store.outbox.expire_dead(NOW)),
    "approvals": ("approvals", {"decided_at": OLD}, lambda store: store.approvals.expire(NOW)),
    "grants": ("grants", {}, lambda store: store.grants.expire(NOW)),
    "rate events": ("rate_events", {}, lambda store: store.rate_windows.expire(NOW)),
    "tokens": ("api_tokens", {"revoked_at": OLD}, lambda store: store.api_tokens.expire(NOW)),
    "usage": ("attempts", {"day": "2026-01-01"}, lambda store: store.usage.expire("2026-06-01")),
    "sums": ("spending", {"period": "2026-01-01"}, lambda store: store.usage.expire_accounts("2026-06-01")),
    "alerts": ("budget_alerts", {"period": "2026-01"}, lambda store: store.usage.expire_accounts("2026-06-01")),
    "audit": ("audit", {}, lambda store: store.audit.expire(NOW)),
    "traces of turns": ("turn_traces", {}, lambda store: store.traces.expire(NOW)),
    "schedules": (
        "schedules",
        {"state": "finished", "last_due_at": OLD},
        lambda store: stored_schedules(store).expire(NOW),
    ),
    "runs": ("runs", {"session_id": "s", "finished_at": OLD}, lambda store: store.runs.expire(NOW)),
    "events": ("events", {}, lambda store: store.events.expire(NOW)),
}


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=postgres.needs_postgres)])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "postgres":
        postgres.without_rows()
        return postgres.MIGRATED
    copy_database(tmp_path)
    return SQLITE


@pytest.fixture
async def store(url: str, tmp_path: Path) -> AsyncIterator[SqlHostStore]:
    store = SqlHostStore(url, folder=tmp_path, clock=VirtualClock(start=OLD))
    await store.open()
    await store.sessions.get_or_create("s", "ada")
    yield store
    await store.close()


def make_row(table: Table, number: int, given: Mapping[str, Any]) -> dict[str, Any]:
    """A row with a value for each column that must have one, dated `OLD`."""
    row: dict[str, Any] = {}
    for column in table.columns:
        generated = column.name == "number" and column.autoincrement is not False
        if column.nullable or generated or column.server_default is not None:
            continue
        kind = column.type
        if isinstance(kind, UtcTime):
            row[column.name] = OLD
        elif isinstance(kind, JsonText):
            row[column.name] = {}
        elif isinstance(kind, (Text, SafeText)):
            row[column.name] = f"{column.name} {number}"
        elif column.name == "number":
            row[column.name] = number
        elif column.name == "key":
            row[column.name] = to_key(1, number)
        else:
            row[column.name] = kind.python_type()
    return row | dict(given)


def database_of(store: SqlHostStore) -> Database:
    return store._database


async def fill(store: SqlHostStore, name: str, given: Mapping[str, Any], *, rows: int = ROWS) -> Table:
    table = metadata.tables[name]
    made = [make_row(table, number, given) for number in range(1, rows + 1)]
    logs = metadata.tables["event_logs"]

    def put(connection: Connection) -> None:
        if name == "events":
            connection.execute(insert(logs), {"number": 1, "session_id": "s", "last_seq": 0})
        connection.execute(insert(table), made)

    await database_of(store).write(put)
    return table


@contextmanager
def deletions(store: SqlHostStore) -> Any:
    """Count the rows that each statement deletes; every statement of a sweep that deletes is a transaction."""
    counts: list[int] = []
    engine: Engine = database_of(store)._write_engine

    def note(connection: Any, cursor: Any, statement: str, *_: object) -> None:
        if statement.startswith("DELETE"):
            counts.append(cursor.rowcount)

    def end(connection: Any) -> None:
        counts.append(-1)

    event.listen(engine, "after_cursor_execute", note)
    event.listen(engine, "commit", end)
    yield counts
    event.remove(engine, "after_cursor_execute", note)
    event.remove(engine, "commit", end)


def largest(counts: list[int]) -> int:
    """The most rows that were deleted between two commits."""
    found = current = 0
    for count in counts:
        current = 0 if count < 0 else current + count
        found = max(found, current)
    return found


# Statements are the same on PostgreSQL; filling its tables takes longer, so that one of each way to delete is enough.
ON_POSTGRES = ("sub_agents", "feedback", "many snapshots", "events", "audit")


@pytest.mark.parametrize(
    ("url", "kind"),
    [
        *(("sqlite", kind) for kind in KINDS),
        *(pytest.param("postgres", kind, marks=postgres.needs_postgres) for kind in ON_POSTGRES),
    ],
    indirect=["url"],
)
async def test_no_transaction_deletes_more_than_a_batch(store: SqlHostStore, kind: str) -> None:
    name, given, expire = KINDS[kind]
    table = await fill(store, name, given)
    with deletions(store) as counts:
        await expire(store)
    left = await database_of(store).read(lambda found: found.execute(select(func.count()).select_from(table)).scalar())
    assert left == 0
    assert 0 < largest(counts) <= EXPIRE_BATCH_SIZE


async def test_a_deletion_in_one_statement_is_found(store: SqlHostStore) -> None:
    table = await fill(store, "sub_agents", {})
    with deletions(store) as counts:
        await database_of(store).write(lambda connection: connection.execute(delete(table)))
    assert largest(counts) == ROWS


async def test_a_write_runs_while_a_sweep_deletes(store: SqlHostStore) -> None:
    await fill(store, "sub_agents", {}, rows=6 * EXPIRE_BATCH_SIZE)
    sweep = asyncio.ensure_future(store.sub_agents.expire(NOW))
    await store.sessions.rename("s", "meanwhile")
    assert not sweep.done()
    assert await sweep == 6 * EXPIRE_BATCH_SIZE
