"""Migration of a PostgreSQL store that others use: at once, under load, and beside older hosts."""

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine, text

from sophon.errors import StoreError
from sophon.stores.sql import older_hosts
from sophon.stores.sql.dialects import create_engine_for
from sophon.stores.sql.schema_migration import REVISIONS, VERSION_TABLE, newest_version
from sophon.stores.sql.store_url import resolve_url
from sophon_hosting.store.sql_host_store import SqlHostStore
from tests import postgres
from tests.databases import open_and_close
from tests.sophon.stores.sql.next_version import NEXT, know_next_version

pytestmark = postgres.needs_postgres

OLDER = newest_version()
OPENER = """
import asyncio, sys
from pathlib import Path
from sophon.stores.sql import schema_migration
from sophon_hosting.store.sql_host_store import SqlHostStore

async def main():
    schema_migration.MIGRATIONS = Path(sys.argv[3])
    schema_migration.REVISIONS = tuple(sys.argv[4:])
    store = SqlHostStore(sys.argv[1])
    print("ready", flush=True)
    sys.stdin.readline()
    await store.open()
    await store.sessions.get_or_create(sys.argv[2], "ada")
    await store.close()

asyncio.run(main())
"""


@pytest.fixture
def engine() -> Iterator[Engine]:
    """An engine of the empty database, which takes the write lock as a host does."""
    postgres.empty()
    engine = create_engine_for(resolve_url(postgres.URL, Path()), "write", 30)
    yield engine
    engine.dispose()


@pytest.fixture
def migrations(engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The database has what is not the newest schema any more; returns the folder of the migrations."""
    asyncio.run(open_and_close(SqlHostStore(postgres.URL)))
    return know_next_version(tmp_path, monkeypatch)


def read(engine: Engine, query: str) -> list[object]:
    with engine.connect() as connection:
        return list(connection.execute(text(query)).scalars())


def register_host(engine: Engine, *, schema: str = OLDER, seconds: int = 3600, name: str = "host:old") -> None:
    with engine.begin() as connection:
        connection.execute(
            text(
                "INSERT INTO leases (name, holder, until, schema_version) "
                "VALUES (:name, 'old', clock_timestamp() + make_interval(secs => :seconds), :schema)"
            ),
            {"name": name, "seconds": seconds, "schema": schema},
        )


async def test_an_empty_database_gets_the_schema(engine: Engine) -> None:
    store = SqlHostStore(postgres.URL)
    assert (await store.maintenance.read_schema()).stored == ""
    await store.maintenance.migrate_schema()
    assert read(engine, f"SELECT version_num FROM {VERSION_TABLE}") == [newest_version()]


@pytest.mark.parametrize("is_new", [True, False])
def test_of_processes_that_open_at_once_one_migrates_and_all_succeed(
    engine: Engine, migrations: Path, is_new: bool
) -> None:
    if is_new:
        postgres.empty()
    pipe = subprocess.PIPE
    processes = [
        subprocess.Popen(
            [sys.executable, "-W", "error", "-c", OPENER, postgres.URL, f"s{number}", migrations, *REVISIONS, NEXT],
            stdin=pipe,
            stdout=pipe,
            stderr=pipe,
        )
        for number in range(2)
    ]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
    errors = [process.communicate(b"go\n")[1] for process in processes]
    assert errors == [b"", b""]
    assert read(engine, "SELECT id FROM sessions ORDER BY id") == ["s0", "s1"]


@pytest.mark.usefixtures("migrations")
async def test_a_schema_that_live_hosts_of_another_version_use_is_not_migrated(engine: Engine) -> None:
    register_host(engine)
    store = SqlHostStore(postgres.URL)
    for attempt in (store.open, store.maintenance.migrate_schema):
        with pytest.raises(StoreError, match=f"from {OLDER} to {newest_version()}, and 1 hosts of another version"):
            await attempt()
    assert read(engine, f"SELECT version_num FROM {VERSION_TABLE}") == [OLDER]
    await store.maintenance.migrate_schema(force=True)
    assert (await store.maintenance.read_schema()).is_current
    await store.open()
    await store.close()


@pytest.mark.usefixtures("migrations")
async def test_hosts_that_have_gone_and_leases_of_other_names_do_not_hinder(engine: Engine) -> None:
    register_host(engine, seconds=-1)
    register_host(engine, name="leader:schedules")
    await SqlHostStore(postgres.URL).maintenance.migrate_schema()
    assert read(engine, f"SELECT version_num FROM {VERSION_TABLE}") == [newest_version()]


@pytest.mark.usefixtures("migrations")
async def test_without_the_check_the_schema_changes_below_a_running_host(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    register_host(engine)
    monkeypatch.setattr(older_hosts, "HOST_PREFIX", "nobody:")
    await SqlHostStore(postgres.URL).maintenance.migrate_schema()
    assert read(engine, f"SELECT version_num FROM {VERSION_TABLE}") == [newest_version()]


async def test_a_host_whose_schema_was_replaced_writes_nothing_once_it_renews_a_lease(engine: Engine) -> None:
    store = SqlHostStore(postgres.URL)
    await store.open()
    await store.leases.acquire("host:a", "a", 60)
    with engine.begin() as connection:
        connection.execute(text(f"UPDATE {VERSION_TABLE} SET version_num = '9999'"))
    for attempt in (store.leases.acquire("host:a", "a", 60), store.sessions.get_or_create("s", "ada")):
        with pytest.raises(StoreError, match="was migrated to 9999 by another process"):
            await attempt
    await store.close()
    assert read(engine, "SELECT id FROM sessions") == []
