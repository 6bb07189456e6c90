"""The queue of the settings: which database, and what is refused."""

import subprocess
import sys

import pytest

from sophon import Services
from sophon.errors import SettingsError
from sophon_hosting.queue.postgresql.connection import to_conninfo
from sophon_hosting.queue.postgresql.queue import PostgresQueue
from sophon_hosting.queue.queue_factory import build_queue


def test_the_database_of_the_store_is_the_default() -> None:
    settings = {"Queue": {"Backend": "Postgres"}, "Store": {"Url": "postgresql+psycopg://ada@db.example/sophon"}}
    queue = build_queue(Services(settings=settings))
    assert isinstance(queue, PostgresQueue)
    assert queue.is_shared
    assert queue.lease_seconds == 30


def test_a_store_on_sqlite_is_no_database_for_the_queue() -> None:
    with pytest.raises(SettingsError, match=r"Queue\.Url: .* begins with postgresql://"):
        build_queue(Services(settings={"Queue": {"Backend": "Postgres"}}))


@pytest.mark.parametrize("url", ["postgres://h/d", "postgresql://h/d", "postgresql+asyncpg://h/d"])
def test_each_spelling_of_a_url_is_understood(url: str) -> None:
    assert "host=h" in to_conninfo(url)


def test_a_broken_url_is_a_setting_that_is_wrong_and_shows_no_password() -> None:
    with pytest.raises(SettingsError, match=r"Queue\.Url") as refusal:
        to_conninfo("postgresql://ada:hunter2@h/d?sslmod=require")
    assert "hunter2" not in str(refusal.value)


def test_nothing_of_it_is_loaded_for_a_queue_in_memory() -> None:
    program = (
        "import sys; from sophon import Services; from sophon_hosting.queue.queue_factory import build_queue;"
        "build_queue(Services()); print('psycopg' in sys.modules)"
    )
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "False"
