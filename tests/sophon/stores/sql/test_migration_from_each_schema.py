"""Each known schema, on SQLite and PostgreSQL, is migrated with the rows of all its tables while others write."""

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import (
    Boolean,
    Column,
    Connection,
    DateTime,
    Double,
    Engine,
    Float,
    Integer,
    LargeBinary,
    MetaData,
    Numeric,
    Text,
    inspect,
    text,
)

from sophon.stores.sql.dialects import create_engine_for
from sophon.stores.sql.schema import metadata
from sophon.stores.sql.schema_migration import REVISIONS, VERSION_TABLE, newest_version
from sophon.stores.sql.store_url import resolve_url
from sophon_hosting.store.events.logged_event import LoggedEvent
from sophon_hosting.store.runs.contract import Run
from sophon_hosting.store.sql_host_store import SqlHostStore
from tests import postgres
from tests.sophon.stores.sql.known_schemas import ENGINES, file_of, read_statements, render_schema
from tests.sophon.stores.sql.next_version import NEXT, know_next_version

THEN = datetime(2026, 1, 1, tzinfo=UTC)
INSERT = text(
    "INSERT INTO sessions (id, owner, title, last_seq, said, created_at, updated_at) "
    "VALUES (:id, 'ada', '', 0, 0, :at, :at)"
)

WRITES = 20
"""Rows written beside a migration; more would let SQLite, whose writers wait by polling, starve it."""


def make_value(column: Column[Any]) -> Any:
    """Return a value that the column's type accepts; equal for equal types, so that foreign keys hold."""
    match column.type:
        case Boolean():
            return True
        case DateTime():
            return THEN
        case Integer() | Numeric() | Float() | Double():
            return 1
        case LargeBinary():
            return b""
        case _:
            return "{}"


def make_database(url: str, revision: str) -> Engine:
    """Make the schema of a version, with a row in each of its tables."""
    engine = open_engine(url)
    with engine.begin() as connection:
        for statement in read_statements(revision, engine.dialect.name):
            connection.exec_driver_sql(statement)
        fill_tables(connection)
        connection.exec_driver_sql(f"CREATE TABLE {VERSION_TABLE} (version_num VARCHAR(32) NOT NULL PRIMARY KEY)")
        connection.exec_driver_sql(f"INSERT INTO {VERSION_TABLE} VALUES ('{revision}')")
    return engine


def fill_tables(connection: Connection) -> None:
    found = MetaData()
    found.reflect(connection)
    for table in found.sorted_tables:
        values = {each.name: make_value(each) for each in table.c if not is_given_by_server(each)}
        connection.execute(table.insert().values(values))


def is_given_by_server(column: Column[Any]) -> bool:
    """Return whether the engine gives each row its value: a generated column, or a number of a PostgreSQL sequence."""
    default = column.server_default
    return column.computed is not None or column.identity is not None or "nextval" in str(getattr(default, "arg", ""))


def open_engine(url: str) -> Engine:
    return create_engine_for(resolve_url(url, Path()), "write", 30)


def count_rows(engine: Engine) -> dict[str, int]:
    with engine.connect() as connection:
        names = [each for each in inspect(connection).get_table_names() if not is_left_out(each)]
        return {each: connection.execute(text(f"SELECT count(*) FROM {each}")).scalar_one() for each in names}


def is_left_out(table: str) -> bool:
    """Return whether the engine keeps a table itself, or its rows end with a turn, as reservations do."""
    return table.startswith(("sqlite_", "message_words")) or table in ("claims", "spending")


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=postgres.needs_postgres)])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Of an empty database."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path}/s.db"
        return
    postgres.empty()
    yield postgres.URL
    postgres.empty()


@dataclass
class Load:
    """A writer beside the migration."""

    engine: Engine
    written: list[str] = field(default_factory=list[str])

    def __post_init__(self) -> None:
        self._is_over, self._has_written = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._write)

    def __enter__(self) -> "Load":
        self._thread.start()
        assert self._has_written.wait(30)
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()

    def _write(self) -> None:
        while not self._is_over.is_set() and len(self.written) < WRITES:
            name = f"w{len(self.written):05}"
            with self.engine.begin() as connection:
                connection.execute(INSERT, {"id": name, "at": THEN})
            self.written.append(name)
            self._has_written.set()


def find_differences(connection: Connection) -> list[Any]:
    """Return how the schema differs from the tables and the column of the next version."""
    wanted = MetaData()
    for table in metadata.tables.values():
        table.to_metadata(wanted)
    wanted.tables["sessions"].append_column(Column("colour", Text, nullable=False))
    options = {
        "version_table": VERSION_TABLE,
        "compare_type": True,
        "include_object": lambda _, name, kind, *__: (kind, name) not in OF_POSTGRESQL,
    }
    return list(compare_metadata(MigrationContext.configure(connection, opts=options), wanted))


OF_POSTGRESQL = {("table", "message_words"), ("index", "memories_by_words")}
"""What the tables do not name: indexes of words."""


@pytest.mark.parametrize("revision", REVISIONS)
async def test_it_is_migrated_with_all_rows_while_another_process_writes(
    url: str, revision: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = make_database(url, revision)
    before = count_rows(engine)
    know_next_version(tmp_path, monkeypatch)
    store = SqlHostStore(url)
    assert (await store.maintenance.read_schema()).stored == revision
    with Load(engine) as load:
        await store.maintenance.migrate_schema()
    after = count_rows(engine)
    with engine.connect() as connection:
        assert find_differences(connection) == []
        first = connection.execute(text("SELECT title, colour FROM sessions ORDER BY number LIMIT 1")).one()
    assert tuple(first) == ("migrated", "blue")
    engine.dispose()
    assert after == {**before, "sessions": 1 + len(load.written)}
    assert (await store.maintenance.read_schema()).stored == NEXT
    await store.open()
    for each in (load.written[-1], "{}"):
        assert (await store.sessions.get(each)).owner in ("ada", "{}")
    assert (await store.runs.accept(Run("r", load.written[-1], "ada"))).created
    assert await store.events.append(load.written[-1], [LoggedEvent("task_queued", {}, "r")]) == 1
    await store.close()


@pytest.mark.parametrize("engine", ENGINES)
def test_the_newest_known_schema_is_that_of_the_tables(engine: str) -> None:
    """Whoever changes a table writes a migration: see `sophon.stores.sql.schema_migration`."""
    assert file_of(newest_version(), engine).read_text() == render_schema(engine)


def test_without_its_migration_a_database_lacks_the_column(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = make_database(f"sqlite:///{tmp_path}/s.db", newest_version())
    with engine.connect() as connection:
        assert "colour" in str(find_differences(connection))
    engine.dispose()
