"""A list of runs reads the beginnings of large answers from the database, not the answers."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import event
from sqlalchemy.pool import Pool

from sophon_hosting.store.runs.contract import Run, RunOutcome
from sophon_hosting.store.sql_host_store import SqlHostStore

RUNS = 100
MEGABYTE = 1_000_000


class ReadCounter:
    """Counts the characters that SQLite hands out."""

    def __init__(self) -> None:
        self.characters = 0

    def watch(self, connection: sqlite3.Connection, _record: object) -> None:
        connection.row_factory = self._count

    def _count(self, _cursor: object, row: tuple[object, ...]) -> tuple[object, ...]:
        self.characters += sum(len(value) for value in row if isinstance(value, str | bytes))
        return row


@pytest.fixture
def counter() -> Iterator[ReadCounter]:
    counter = ReadCounter()
    event.listen(Pool, "connect", counter.watch)
    yield counter
    event.remove(Pool, "connect", counter.watch)


async def test_a_list_of_a_hundred_runs_with_a_megabyte_each_reads_little(counter: ReadCounter, tmp_path: Path) -> None:
    store = SqlHostStore(f"sqlite:///{tmp_path / 'large.db'}")
    await store.open()
    for number in range(RUNS):
        await store.runs.accept(Run(id=f"r{number}", session_id=f"s{number}"))
        await store.runs.finish(f"r{number}", RunOutcome("completed", {"text": f"{number} " + "x" * MEGABYTE}))
    before = counter.characters
    runs = await store.runs.list(limit=RUNS, whole=False)
    assert [str(run.response["text"])[:3].strip() for run in runs if run.response][:2] == ["99", "98"]
    assert 0 < counter.characters - before < 3 * MEGABYTE
    await store.close()
