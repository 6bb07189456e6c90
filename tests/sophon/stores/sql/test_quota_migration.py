"""Migration 0020: the uses of Shield's quotas are rate-limited events afterwards, and uses again on the way back."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from alembic import command
from alembic.config import Config
from sqlalchemy import Connection, create_engine, text

from sophon.stores.factory import store_from_url
from sophon.stores.sql import schema_migration
from sophon.stores.sql.url import resolve_url
from tests import postgres

SQLITE = "sqlite:///s.db"
T0 = datetime(2026, 11, 23, 12, 0, 0, 250000, UTC)
USES = [("shield.evaluations", 2), ("shield.questions:telegram:5", 1), ("shield.evaluations", 3)]


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=postgres.needs_postgres)])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "sqlite":
        yield SQLITE
        return
    postgres.empty()
    yield postgres.URL
    postgres.empty()


def migrate(connection: Connection, revision: str, *, back: bool = False) -> None:
    config = Config()
    config.set_main_option("script_location", str(Path(schema_migration.__file__).parent / "migrations"))
    config.attributes["connection"] = connection
    (command.downgrade if back else command.upgrade)(config, revision)


async def test_what_was_used_counts_after_the_migration_and_after_going_back(url: str, tmp_path: Path) -> None:
    engine = create_engine(resolve_url(url, tmp_path))
    rows: list[dict[str, Any]] = [{"name": name, "at": T0 + timedelta(seconds=each)} for name, each in USES]
    with engine.begin() as connection:
        migrate(connection, "0019")
        connection.execute(
            text("INSERT INTO rate_events (scope, at) VALUES (:name, :at)"), [{**rows[0], "name": "calls"}]
        )
        connection.execute(text("INSERT INTO quota_uses (quota, at) VALUES (:name, :at)"), rows)

    store = store_from_url(url, folder=tmp_path)
    await store.open()
    for scope, seconds in (("shield.evaluations", [2, 3]), ("shield.questions:telegram:5", [1]), ("calls", [2])):
        found = await store.rate_windows.load(scope, T0, 100)
        assert [(each - T0).total_seconds() for each in found] == seconds
    await store.close()

    with engine.begin() as connection:
        migrate(connection, "0019", back=True)
        quotas = connection.execute(text("SELECT quota FROM quota_uses ORDER BY at")).scalars().all()
        scopes = connection.execute(text("SELECT scope FROM rate_events")).scalars().all()
    engine.dispose()
    assert (list(quotas), list(scopes)) == ([USES[1][0], USES[0][0], USES[0][0]], ["calls"])
