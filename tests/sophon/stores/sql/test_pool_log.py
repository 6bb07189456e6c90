"""A connection that PostgreSQL has closed is no traceback of the pool; another error of the pool is one."""

import logging
from collections.abc import AsyncIterator
from contextlib import closing

import psycopg
import pytest
from sqlalchemy import Connection

from sophon.errors import StoreUnavailable
from sophon.stores.sql.dialects import POOL_NAME, LostConnectionFilter
from sophon_hosting.store.sql_host_store import SqlHostStore
from tests import postgres

pytestmark = postgres.needs_postgres


@pytest.fixture
def url() -> str:
    postgres.without_rows()
    return postgres.MIGRATED


@pytest.fixture
async def store(url: str) -> AsyncIterator[SqlHostStore]:
    store = SqlHostStore(url)
    await store.open()
    yield store
    await store.close()


async def test_a_connection_that_the_server_has_closed_is_no_traceback(
    store: SqlHostStore, caplog: pytest.LogCaptureFixture
) -> None:
    def lose(connection: Connection) -> None:
        driver = connection.connection.driver_connection
        assert isinstance(driver, psycopg.Connection)
        with psycopg.connect(postgres.MIGRATED, autocommit=True) as other:
            other.execute("SELECT pg_terminate_backend(%s, 5000)", (driver.info.backend_pid,))
        with closing(connection.connection.cursor()) as cursor:  # as a prepared statement does
            cursor.execute("SELECT 1")

    with pytest.raises(StoreUnavailable):
        await store._database.read(lose)
    assert [record.getMessage() for record in caplog.records if record.name.startswith("sqlalchemy")] == []
    assert await store.sessions.list() == []


def test_another_error_of_the_pool_is_logged(url: str, caplog: pytest.LogCaptureFixture) -> None:
    SqlHostStore(url)
    logger = logging.getLogger(f"sqlalchemy.pool.impl.QueuePool.{POOL_NAME}")
    assert sum(isinstance(each, LostConnectionFilter) for each in logger.filters) == 1
    logger.error("Exception during reset or similar", exc_info=ValueError("a defect"))
    assert "a defect" in caplog.text
