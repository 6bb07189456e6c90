"""The store of a chain in one's own process: dictionaries, and SQLite in memory for what few chains use."""

import subprocess
import sys

import pytest

from sophon import Services
from sophon.attachments import Attachment
from sophon.errors import CompositionError, NotFound
from sophon.stores import InMemoryStore
from sophon_hosting.host import Host
from sophon_middlewares.chains import twelve

FILE = Attachment("i", "note.txt", "text/plain", 5, 3)


async def test_a_session_is_deleted_with_what_sqlite_has_of_it() -> None:
    store = InMemoryStore()
    await store.sessions.get_or_create("s", "ada")
    await store.attachments.add(FILE, b"hello", owner="ada", session_id="s")
    await store.sessions.fork("s", "copy")
    assert await store.attachments.read("i", session_id="copy") == b"hello"
    await store.sessions.delete("s")
    assert await store.attachments.read("i", session_id="s") is None
    await store.sessions.delete("copy")
    assert await store.attachments.find("i") is None


async def test_a_file_is_of_a_session_that_there_is() -> None:
    store = InMemoryStore()
    with pytest.raises(NotFound):
        await store.attachments.add(FILE, b"hello", owner="ada", session_id="unknown")


def test_a_plain_turn_loads_no_sqlalchemy() -> None:
    program = (
        "import asyncio, sys\nfrom sophon import Services\nfrom sophon_middlewares.chains import twelve\n"
        "services = Services()\nasyncio.run(twelve(services).run(services.turn('What is 17 * 23?')))\n"
        "print(sorted({'sqlalchemy', 'sqlite3'} & set(sys.modules)))"
    )
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "[]"


def test_a_host_says_what_to_pass_in_its_place() -> None:
    services = Services()
    with pytest.raises(CompositionError, match="store_from_url"):
        Host(services, twelve(services))
