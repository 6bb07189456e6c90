"""The commands of docs/operations.md: a backup is restored, with a task that goes on and the files beside it."""

import asyncio
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from sqlalchemy import create_engine
from sqlalchemy.engine import make_url

from sophon._python.private_files import PRIVATE_FILE
from sophon.messages import Message
from sophon.stores.sessions.contract import SessionRecord
from sophon.stores.sql.store_url import resolve_url
from sophon_hosting.store.factory import host_store_from_url
from sophon_hosting.store.runs.contract import Run
from tests import postgres
from tests.databases import SQLITE, copy_database

PAGE = (Path(__file__).parents[3] / "docs" / "operations.md").read_text()
RESTORED = "sophon_restored"


def commands(what: str, engine: str) -> str:
    """A block of the page."""
    found = re.search(rf"<!-- {what}: {engine} -->\n```sh\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    assert found is not None
    return found[1]


def run(block: str, folder: Path, **variables: str) -> None:
    """Run a block as a person would, in the folder of the settings."""
    environment = os.environ | variables | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    done = subprocess.run(["sh", "-eu"], cwd=folder, env=environment, input=block, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


async def write(url: str, folder: Path, text: str) -> None:
    """Add a message to a session, and a task that nobody has run."""
    store = host_store_from_url(url, folder=folder)
    await store.open()
    await store.sessions.append("s", [SessionRecord("message", text, Message("user", text))], owner="ada")
    await store.runs.accept(Run(text, "s", "ada", text=text))
    await store.close()


async def read(url: str, folder: Path) -> tuple[list[str], list[str]]:
    """The messages, and the tasks that a host would run."""
    store = host_store_from_url(url, folder=folder)
    await store.open()
    messages = [each.content for each in (await store.sessions.load_history("s")).messages]
    runs = [each.id for each in await store.runs.list_unfinished()]
    await store.close()
    return messages, runs


def needs_program(name: str) -> None:
    if shutil.which(name) is None:
        if os.environ.get("SOPHON_CI"):
            pytest.fail(f"{name} is not installed")
        pytest.skip(f"{name} is not installed")


def test_an_sqlite_database_comes_back_with_its_files(tmp_path: Path) -> None:
    needs_program("sqlite3")
    copy_database(tmp_path)
    asyncio.run(write(SQLITE, tmp_path, "before"))
    upload = tmp_path / "data" / "files" / "note.txt"
    upload.parent.mkdir()
    upload.write_text("kept")
    run(commands("backup", "sqlite"), tmp_path)
    assert {each.stat().st_mode & 0o077 for each in (tmp_path / "backup").iterdir()} == {0}
    asyncio.run(write(SQLITE, tmp_path, "after"))
    upload.write_text("changed")
    run(commands("restore", "sqlite"), tmp_path)
    assert (tmp_path / "data" / "sophon.db").stat().st_mode & 0o777 == PRIVATE_FILE
    assert asyncio.run(read(SQLITE, tmp_path)) == (["before"], ["before"])
    assert upload.read_text() == "kept"


def test_a_backup_of_sqlite_has_what_the_log_holds(tmp_path: Path) -> None:
    needs_program("sqlite3")
    copy_database(tmp_path)

    async def back_up_while_it_runs() -> None:
        store = host_store_from_url(SQLITE, folder=tmp_path)
        await store.open()
        await store.sessions.append("s", [SessionRecord("message", "r", Message("user", "new"))], owner="ada")
        assert (tmp_path / "data" / "sophon.db-wal").stat().st_size
        await asyncio.to_thread(run, commands("backup", "sqlite"), tmp_path)
        await store.close()

    asyncio.run(back_up_while_it_runs())
    run(commands("restore", "sqlite"), tmp_path)
    assert asyncio.run(read(SQLITE, tmp_path))[0] == ["new"]


@postgres.needs_postgres
def test_a_postgresql_database_comes_back_with_the_files(tmp_path: Path) -> None:
    for program in ("pg_dump", "pg_restore", "psql"):
        needs_program(program)
    postgres.without_rows()
    name = f"{RESTORED}_{postgres.WORKER}"
    restored = make_url(postgres.MIGRATED).set(database=name).render_as_string(hide_password=False)
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "note.txt").write_text("kept")
    (tmp_path / "appsettings.json").write_text(f'{{"Sophon": {{"Store": {{"Url": "{restored}"}}}}}}')
    asyncio.run(write(postgres.MIGRATED, tmp_path, "before"))
    drop_database(name)
    try:
        run(commands("backup", "postgresql"), tmp_path, DATABASE_URL=postgres.MIGRATED)
        asyncio.run(write(postgres.MIGRATED, tmp_path, "after"))
        (tmp_path / "data" / "note.txt").unlink()
        restore = commands("restore", "postgresql").replace(RESTORED, name)
        run(restore, tmp_path, DATABASE_URL=postgres.MIGRATED, RESTORED_URL=restored)
        assert asyncio.run(read(restored, tmp_path)) == (["before"], ["before"])
        assert (tmp_path / "data" / "note.txt").read_text() == "kept"
    finally:
        drop_database(name)


def drop_database(name: str) -> None:
    engine = create_engine(resolve_url(postgres.SERVER, Path()), isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.exec_driver_sql(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
    engine.dispose()
