"""The schema: made, recognised, brought up to date, and refused when it is not ours."""

import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from alembic.config import Config
from alembic.script import ScriptDirectory

from sophon.errors import StoreError
from sophon.messages import Message
from sophon.stores.sessions.contract import SessionRecord
from sophon.stores.sql import schema_migration
from sophon_hosting.store.sql_host_store import SqlHostStore

HELLO = SessionRecord("message", "r", Message("user", "hello"))


async def made(folder: Path) -> Path:
    store = SqlHostStore("sqlite:///s.db", folder=folder)
    await store.open()
    await store.close()
    return folder / "s.db"


def run(path: Path, *statements: str) -> list[tuple[object, ...]]:
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        return [row for statement in statements for row in connection.execute(statement).fetchall()]
    finally:
        connection.close()


def test_the_known_revisions_are_those_in_the_folder():
    config = Config()
    config.set_main_option("script_location", str(schema_migration.MIGRATIONS))
    script = ScriptDirectory.from_config(config)
    assert tuple(revision.revision for revision in script.walk_revisions())[::-1] == schema_migration.REVISIONS


async def test_a_file_is_in_wal_mode_and_its_foreign_keys_hold(tmp_path: Path):
    path = await made(tmp_path)
    assert run(path, "PRAGMA journal_mode") == [("wal",)]
    store = SqlHostStore("sqlite:///s.db", folder=tmp_path)
    await store.open()
    await store.sessions.append("s", [HELLO])
    await store.sessions.delete("s")
    await store.close()
    assert run(path, "SELECT count(*) FROM records") == [(0,)]


@pytest.mark.parametrize("is_new", [True, False])
async def test_a_new_and_a_current_schema_are_opened_without_alembic(tmp_path: Path, is_new: bool):
    if not is_new:
        await made(tmp_path)
    program = (
        "import asyncio, sys\n"
        "from pathlib import Path\n"
        "from sophon_hosting.store.sql_host_store import SqlHostStore\n"
        "async def main():\n"
        "    store = SqlHostStore('sqlite:///s.db', folder=Path(sys.argv[1]))\n"
        "    await store.open()\n"
        "    await store.close()\n"
        "asyncio.run(main())\n"
        "print('alembic' in sys.modules)\n"
    )
    answer = subprocess.run([sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "False"


async def test_a_newer_schema_is_refused(tmp_path: Path):
    run(await made(tmp_path), f"UPDATE {schema_migration.VERSION_TABLE} SET version_num = '9999'")
    with pytest.raises(StoreError, match="'9999' is unknown to this Sophon"):
        await made(tmp_path)


async def test_a_database_of_another_program_is_refused_and_left_as_it_is(tmp_path: Path):
    path = tmp_path / "s.db"
    run(path, "CREATE TABLE customers (id INTEGER)")
    before = path.read_bytes()
    with pytest.raises(StoreError, match="another program \\(customers\\)"):
        await made(tmp_path)
    assert path.read_bytes() == before


async def test_a_file_that_is_no_database_is_refused(tmp_path: Path):
    (tmp_path / "s.db").write_bytes(b"Dear diary, today I learned about file formats. " * 100)
    with pytest.raises(StoreError, match="no SQLite database"):
        await made(tmp_path)


async def test_a_damaged_file_is_refused(tmp_path: Path):
    path = await made(tmp_path)
    content = bytearray(path.read_bytes())
    content[100:] = b"\xff" * (len(content) - 100)
    path.write_bytes(content)
    with pytest.raises(StoreError, match="cannot be used"):
        await made(tmp_path)


async def test_a_folder_in_the_place_of_the_file_is_refused(tmp_path: Path):
    (tmp_path / "s.db").mkdir()
    with pytest.raises(StoreError, match="cannot be opened"):
        await made(tmp_path)


async def test_a_file_in_the_place_of_the_folder_is_refused(tmp_path: Path):
    (tmp_path / "data").write_text("no folder")
    with pytest.raises(StoreError, match="data"):
        await SqlHostStore("sqlite:///data/s.db", folder=tmp_path).open()


async def test_an_error_is_one_line_without_a_traceback_of_the_library(tmp_path: Path):
    (tmp_path / "s.db").write_bytes(b"x" * 5000)
    with pytest.raises(StoreError) as caught:
        await made(tmp_path)
    assert str(caught.value).startswith(f"the store {tmp_path / 's.db'} cannot be used: ")
    assert "\n" not in str(caught.value)
    assert "sqlalche.me" not in str(caught.value)


OPENER = """
import asyncio, sys
from pathlib import Path
from sophon.messages import Message
from sophon.stores.sessions.contract import SessionRecord
from sophon_hosting.store.sql_host_store import SqlHostStore

async def main():
    store = SqlHostStore("sqlite:///new/s.db", folder=Path(sys.argv[1]))
    print("ready", flush=True)
    sys.stdin.readline()
    await store.open()
    for _ in range(20):
        await store.sessions.append("s", [SessionRecord("message", "r", Message("user", "hi"))])
    await store.close()

asyncio.run(main())
"""


def test_processes_that_open_a_new_database_at_once_all_succeed(tmp_path: Path):
    opener = [sys.executable, "-W", "error", "-c", OPENER, str(tmp_path)]
    pipe = subprocess.PIPE
    processes = [subprocess.Popen(opener, stdin=pipe, stdout=pipe, stderr=pipe) for _ in range(4)]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write(b"go\n")
        process.stdin.flush()
    errors = [process.communicate()[1] for process in processes]
    assert errors == [b""] * 4
    assert [process.returncode for process in processes] == [0] * 4
    assert run(tmp_path / "new" / "s.db", "SELECT last_seq FROM sessions") == [(80,)]


@pytest.mark.parametrize(
    ("statement", "gap"),
    [
        ("DROP TABLE events", "the table events is missing"),
        ("ALTER TABLE outbound DROP COLUMN last_error", "the column outbound.last_error is missing"),
    ],
)
async def test_an_incomplete_schema_is_refused_and_found(tmp_path: Path, statement: str, gap: str):
    path = await made(tmp_path)
    run(path, statement)
    before = path.read_bytes()
    store = SqlHostStore("sqlite:///s.db", folder=tmp_path)
    with pytest.raises(StoreError, match=f"its schema is incomplete: {gap}; restore a backup"):
        await store.open()
    assert await store.maintenance.find_damage() == [gap]
    assert path.read_bytes() == before
