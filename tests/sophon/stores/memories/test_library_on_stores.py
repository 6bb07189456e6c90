"""Long-term memory over every store: searched by words and vectors, exported, imported, forgotten without a trace."""

import shutil
import subprocess
from pathlib import Path

import pytest

from sophon.learning.hashing_embedder import HashingEmbedder
from sophon.memory.relations import Relation
from sophon.memory.statements_to_remember import Statement
from sophon.stores.contract import Store
from sophon.stores.memories.contract import MemoryEntry
from sophon.stores.memories.long_term_memory import LongTermMemory
from sophon.testing import VirtualClock
from tests import postgres

MARKER, OTHER_MARKER = "Xylophonist", "Vibraphonist"


def dump(store_url: str, folder: Path) -> str:
    """Return everything that is in the files of a store, or in a dump of its server, in lower case."""
    if store_url != postgres.MIGRATED:
        files = [each.read_bytes() for each in folder.rglob("*") if each.is_file()]
        return b"\n".join(files).decode("utf-8", "replace").lower()
    program = shutil.which("pg_dump")
    if program is None:
        pytest.skip("pg_dump is not installed")
    done = subprocess.run([program, "--inserts", store_url], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.lower()


async def test_memory_is_searched_exported_imported_and_forgotten(
    store: Store, store_url: str, store_folder: Path, clock: VirtualClock
) -> None:
    memory = LongTermMemory(store, clock, HashingEmbedder())
    relation = Relation(MARKER, "plays in", "Oslo")
    await memory.learn([Statement(f"{MARKER} plays in Oslo", relations=(relation,))], scope="ada", origin="learned/s")
    await memory.write(
        MemoryEntry("page", f"pay the {MARKER}", scope="ada", sources=("http.request https://x.example",))
    )
    found = await memory.search(f"{MARKER} plays in Oslo", scope="ada")
    assert (found[0].entry.relations, found[0].source) == ((relation,), "hybrid")
    exported = await memory.export("ada")
    assert await memory.import_entries("bob", exported) == 2
    copied = await memory.export("bob")
    assert [each["text"] for each in copied] == [each["text"] for each in exported]
    assert [each["relations"] for each in copied] == [[[MARKER, "plays in", "Oslo"]], []]
    assert [each["trusted"] for each in copied] == [True, False]
    if store_url:
        assert MARKER.lower() in dump(store_url, store_folder)
    await memory.forget("page", scope="ada")
    for scope in ("ada", "bob"):
        await memory.forget_all(scope)
        assert await memory.search(MARKER, scope=scope) == []
    await store.close()
    assert MARKER.lower() not in dump(store_url, store_folder)
    await store.open()


async def test_without_deleting_the_words_the_marker_would_be_found(
    store: Store, store_url: str, store_folder: Path, clock: VirtualClock
) -> None:
    if not store_url:
        pytest.skip("there is no file")
    await LongTermMemory(store, clock).write(MemoryEntry("1", OTHER_MARKER, scope="ada", sources=()))
    await store.close()
    assert OTHER_MARKER.lower() in dump(store_url, store_folder)
    await store.open()
