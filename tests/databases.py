"""SQLite databases with the schema in place: one is made per test process, and each test has a copy of it."""

import asyncio
import atexit
import shutil
import sqlite3
import tempfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import cache
from pathlib import Path

from sophon.stores.contract import Store
from sophon_hosting.store.factory import host_store_from_url

SQLITE = "sqlite:///data/sophon.db"


def copy_database(folder: Path, path: str = "data/sophon.db") -> None:
    """Put a database without rows into a folder: the migrations take 40 ms, a copy of what they made less than one."""
    target = folder / path
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(_template(), target)


def replace_content(file: Path) -> None:
    """Have in a database, open or not, what `copy_database` puts into one: the schema, and no rows."""
    with closing(sqlite3.connect(_template())) as template, closing(sqlite3.connect(file)) as target:
        target.execute("PRAGMA synchronous = OFF")
        template.backup(target)


async def open_and_close(store: Store) -> None:
    """Make the database of a store."""
    await store.open()
    await store.close()


@cache
def _template() -> Path:
    folder = Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, folder)
    with ThreadPoolExecutor(1) as thread:  # a test may have a loop of its own
        thread.submit(lambda: asyncio.run(open_and_close(host_store_from_url(SQLITE, folder=folder)))).result()
    return folder / "data" / "sophon.db"
