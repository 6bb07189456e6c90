"""Connections of the database threads: kept on SQLite, and clean whenever a use begins."""

from pathlib import Path

import pytest
from sqlalchemy import Engine, create_engine, make_url
from sqlalchemy.exc import OperationalError

from sophon.stores.sql.dialects import create_engine_for
from sophon.stores.sql.writer import ThreadConnections


@pytest.fixture
def engine(tmp_path: Path) -> Engine:
    return create_engine_for(make_url(f"sqlite:///{tmp_path / 'x.db'}"), "write", 1.0)


def test_a_thread_keeps_its_connection(engine: Engine) -> None:
    connections = ThreadConnections(engine)
    with connections.connect() as first, first.begin():
        first.exec_driver_sql("CREATE TABLE kept (number INTEGER)")
    with connections.connect() as second, second.begin():
        second.exec_driver_sql("INSERT INTO kept VALUES (1)")
    assert first is second
    connections.close()
    assert first.closed


def test_a_use_that_fails_leaves_nothing_behind(engine: Engine) -> None:
    connections = ThreadConnections(engine)
    with connections.connect() as connection, connection.begin():
        connection.exec_driver_sql("CREATE TABLE kept (number INTEGER)")
    with pytest.raises(OperationalError), connections.connect() as failed, failed.begin():
        failed.exec_driver_sql("SELECT * FROM missing")
    assert connection.closed
    with connections.connect() as left_open:
        left_open.exec_driver_sql("INSERT INTO kept VALUES (2)")
    with connections.connect() as connection, connection.begin():
        assert connection.exec_driver_sql("SELECT count(*) FROM kept").scalar_one() == 0
    connections.close()


def test_another_use_of_a_closed_connection_opens_a_new_one(engine: Engine) -> None:
    connections = ThreadConnections(engine)
    with connections.connect() as first:
        pass
    connections.close()
    with connections.connect() as second:
        assert second.exec_driver_sql("SELECT 1").scalar_one() == 1
    assert second is not first
    connections.close()


def test_a_server_may_close_connections_so_the_pool_checks_each_use() -> None:
    server = create_engine("sqlite://")
    server.dialect.name = "postgresql"
    connections = ThreadConnections(server)
    with connections.connect() as connection:
        pass
    assert connection.closed
