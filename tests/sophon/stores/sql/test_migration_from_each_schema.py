"""Each earlier schema, on SQLite and PostgreSQL, is migrated with the rows of all its tables while others write.

A database goes up one version at a time; each table gets a row when it first exists, and each version a session. At
each version a copy of that database (of PostgreSQL: made from it as a template) is migrated to the newest one.
"""

import shutil
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from alembic import command
from alembic.config import Config
from sqlalchemy import (
    Boolean,
    Connection,
    DateTime,
    Double,
    Engine,
    Float,
    Integer,
    LargeBinary,
    MetaData,
    Numeric,
    inspect,
    text,
)

from sophon.stores import LoggedEvent, Run
from sophon.stores.sql import schema_migration
from sophon.stores.sql.dialects import create_engine_for
from sophon.stores.sql.schema_migration import REVISIONS, VERSION_TABLE, find_schema_gaps
from sophon.stores.sql.url import resolve_url
from sophon.stores.sql_store import SqlStore
from tests import postgres

THEN = datetime(2026, 1, 1, tzinfo=UTC)
INSERT = text(
    "INSERT INTO sessions (id, owner, title, last_seq, said, created_at, updated_at) "
    "VALUES (:id, 'ada', '', 0, 0, :at, :at)"
)
MOVED = {"quota_uses": "rate_events"}
"""Tables whose rows are in another one after a migration."""

ENDED = {"claims"}
"""Tables whose rows end with the host that wrote them: reservations of a turn that no longer runs."""

WRITES = 20
"""Rows written beside a migration; more would let SQLite, whose writers wait by polling, starve it."""


def migrate_to(connection: Connection, revision: str) -> None:
    config = Config()
    config.set_main_option("script_location", str(Path(schema_migration.__file__).parent / "migrations"))
    config.attributes["connection"] = connection
    command.upgrade(config, revision)


def make_value(column: Any) -> Any:
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


@dataclass
class Ladder:
    """A database that climbs from version to version; `copy` gives another one the same content."""

    url: str
    copy: Callable[[], str]
    empty: Callable[[], None]
    revision: str = ""
    filled: set[str] = field(default_factory=set[str])

    def climb(self, revision: str) -> None:
        """Bring the database to a version, with a row in each of its tables and a session of each version."""
        if not self.revision or self.revision > revision:
            self.empty()
            self.revision, self.filled = "0000", set()
        engine = open_engine(self.url)
        for each in REVISIONS[int(self.revision) : int(revision)]:
            with engine.begin() as connection:
                migrate_to(connection, each)
                self._fill(connection)
                connection.execute(INSERT, {"id": f"of {each}", "at": THEN})
        engine.dispose()
        self.revision = revision

    def _fill(self, connection: Connection) -> None:
        found = MetaData()
        found.reflect(connection)
        for table in found.sorted_tables:
            if table.name in self.filled or table.name == VERSION_TABLE or is_internal(table.name):
                continue
            values = {each.name: make_value(each) for each in table.c if not is_given_by_server(each)}
            connection.execute(table.insert().values(values))
            self.filled.add(table.name)


def is_given_by_server(column: Any) -> bool:
    """Return whether the engine gives each row its value: a generated column, or a number of a PostgreSQL sequence."""
    default = column.server_default
    return column.computed is not None or column.identity is not None or "nextval" in str(getattr(default, "arg", ""))


def is_internal(table: str) -> bool:
    """Return whether the engine or a full-text index keeps a table itself."""
    return table.startswith(("sqlite_", "message_words"))


def open_engine(url: str) -> Engine:
    return create_engine_for(resolve_url(url, Path()), "write", 30)


def count_rows(engine: Engine) -> dict[str, int]:
    with engine.connect() as connection:
        names = [each for each in inspect(connection).get_table_names() if not is_internal(each)]
        return {each: connection.execute(text(f"SELECT count(*) FROM {each}")).scalar_one() for each in names}


def find_lost_rows(before: Mapping[str, int], after: Mapping[str, int]) -> dict[str, int]:
    """Return how many rows each table has lost. Pure."""
    expected = Counter[str]()
    for name, count in before.items():
        expected[MOVED.get(name, name) if name not in after else name] += 0 if name in ENDED else count
    return {name: count - after.get(name, 0) for name, count in expected.items() if count > after.get(name, 0)}


@pytest.fixture(scope="module", params=["sqlite", pytest.param("postgres", marks=postgres.needs_postgres)])
def ladder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ladder]:
    if request.param == "postgres":
        postgres.empty()
        yield Ladder(postgres.URL, postgres.copy, postgres.empty)
        postgres.empty()
        return
    folder = tmp_path_factory.mktemp("ladder")

    def copy() -> str:
        for each in folder.glob("copy.db*"):
            each.unlink()
        shutil.copy(folder / "ladder.db", folder / "copy.db")
        return f"sqlite:///{folder}/copy.db"

    def empty() -> None:
        for each in folder.glob("ladder.db*"):
            each.unlink()

    yield Ladder(f"sqlite:///{folder}/ladder.db", copy, empty)


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


@pytest.mark.parametrize("revision", REVISIONS[:-1])
async def test_it_is_migrated_with_all_rows_while_another_process_writes(ladder: Ladder, revision: str) -> None:
    ladder.climb(revision)
    url = ladder.copy()
    engine = open_engine(url)
    before = count_rows(engine)
    store = SqlStore(url)
    assert (await store.maintenance.read_schema()).stored == revision
    with Load(engine) as load:
        await store.maintenance.migrate_schema()
    after = count_rows(engine)
    with engine.connect() as connection:
        assert find_schema_gaps(connection) == []
    engine.dispose()
    before["sessions"] += len(load.written)
    assert find_lost_rows(before, after) == {}
    await store.open()
    for each in (*load.written[-1:], f"of {revision}"):
        assert (await store.sessions.get(each)).owner == "ada"
    assert (await store.runs.accept(Run("r", f"of {revision}", "ada"))).created
    assert await store.events.append(f"of {revision}", [LoggedEvent("task_queued", {}, "r")]) == 1
    await store.close()
