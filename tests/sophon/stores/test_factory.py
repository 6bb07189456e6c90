"""From a URL to a store, and what happens when it leads nowhere."""

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from sophon.errors import StoreError
from sophon.stores.factory import store_from_url
from sophon.stores.sql_store import SqlStore
from sophon.testing import VirtualClock


def test_memory_is_a_store_in_memory(tmp_path: Path):
    store = store_from_url("memory://", folder=tmp_path)
    assert (store.in_memory, store.health.name, list(tmp_path.iterdir())) == (True, "memory://", [])


@pytest.mark.parametrize("scheme", ["sqlite", "sqlite+aiosqlite", "sqlite+pysqlite"])
async def test_a_relative_path_is_relative_to_the_folder(scheme: str, tmp_path: Path):
    store = store_from_url(f"{scheme}:///deep/er/sophon.db", folder=tmp_path, clock=VirtualClock())
    assert isinstance(store, SqlStore)
    await store.open()
    await store.close()
    assert (tmp_path / "deep" / "er" / "sophon.db").is_file()


async def test_an_absolute_path_stays(tmp_path: Path):
    store = store_from_url(f"sqlite:///{tmp_path}/50% off/s.db", folder=Path("/nowhere"))
    await store.open()
    await store.close()
    assert (tmp_path / "50% off" / "s.db").is_file()


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("mysql://u@h/d", "choose from memory, sqlite, postgresql"),
        ("sqlite", "it is no URL"),
        ("", "it is no URL"),
        ("sqlite://", "the path of a file"),
        ("sqlite:///:memory:", "memory://"),
        ("memory:", "it is no URL"),
    ],
)
def test_a_url_that_leads_nowhere_gets_one_clear_line(url: str, problem: str, tmp_path: Path):
    with pytest.raises(StoreError, match=problem) as caught:
        store_from_url(url, folder=tmp_path)
    assert "\n" not in str(caught.value)


def test_the_stores_package_does_not_load_sqlalchemy():
    program = (
        "import sys, sophon.stores, sophon.stores.contract, sophon.stores.in_memory_store, sophon.stores.factory\n"
        "print(sorted({'sqlalchemy', 'alembic', 'sqlite3'} & set(sys.modules)))"
    )
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "[]"


@pytest.mark.skipif(find_spec("psycopg") is not None, reason="the driver is installed")
def test_a_missing_driver_says_what_to_install(tmp_path: Path):
    with pytest.raises(StoreError, match="pip install") as caught:
        store_from_url("postgresql://ada:secret@db/sophon", folder=tmp_path)
    assert "secret" not in str(caught.value)
