"""Search in messages on SQLite: `python -m tests.bench.message_search 100000`.

Time of a search, of opening a store whose messages are not indexed yet, and of indexing them.
The baseline of a search is reading all messages of the person.
"""

import asyncio
import random
import sqlite3
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path

from sophon.messages import Message
from sophon.stores.sessions.contract import SessionRecord
from sophon.stores.sql_store import SqlStore

OWNERS = 10
MESSAGES_PER_SESSION = 100
WORDS_PER_MESSAGE = 80
VOCABULARY = 30_000
REPETITIONS = 5


async def main(count: int) -> None:
    """Fill a store, and print the figures."""
    with tempfile.TemporaryDirectory() as folder:
        store = SqlStore("sqlite:///search.db", folder=Path(folder))
        await store.open()
        words = await fill(store, count)
        started = time.perf_counter()
        await read_all(store, "u3")
        print(f"baseline, reading all messages of a person: {(time.perf_counter() - started) * 1000:.0f} ms")
        for query in (words[0], words[0][:2], words[50], f"{words[0]} {words[1]}", "nothing9"):
            print(f"search {query!r}: {await measure_search(store, query) * 1000:.1f} ms")
        await store.close()
        with closing(sqlite3.connect(Path(folder) / "search.db", isolation_level=None)) as connection:
            connection.execute("DROP TABLE message_words")
            connection.execute("INSERT INTO message_index VALUES ('indexed_up_to', 0)")
        started = time.perf_counter()
        await store.open()
        print(f"opening a store that is not indexed: {(time.perf_counter() - started) * 1000:.0f} ms")
        print(await measure_indexing(store))
        await store.close()


async def fill(store: SqlStore, count: int) -> list[str]:
    """Store messages of words in the frequencies of a language; return the words, the most frequent first."""
    rng = random.Random(1)
    words = ["".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=rng.randint(2, 10))) for _ in range(VOCABULARY)]
    weights = [1 / (rank + 1) for rank in range(VOCABULARY)]
    texts = [" ".join(rng.choices(words, weights, k=WORDS_PER_MESSAGE)) for _ in range(min(count, 5000))]
    for session in range(count // MESSAGES_PER_SESSION):
        records = [
            SessionRecord("message", "r", Message("user", rng.choice(texts))) for _ in range(MESSAGES_PER_SESSION)
        ]
        await store.sessions.append(f"s{session}", records, owner=f"u{session % OWNERS}")
    return words


async def read_all(store: SqlStore, owner: str) -> None:
    """Read every message of an owner, as a search without an index would."""
    for session in await store.sessions.list(owner):
        await store.sessions.list_records(session.id)


async def measure_search(store: SqlStore, query: str) -> float:
    """Return the least time of a search."""
    times: list[float] = []
    for _ in range(REPETITIONS):
        started = time.perf_counter()
        await store.message_search.search("u3", query)
        times.append(time.perf_counter() - started)
    return min(times)


async def measure_indexing(store: SqlStore) -> str:
    """Index all messages; return the time of all and of the longest part, as text."""
    started, longest = time.perf_counter(), 0.0
    while True:
        before = time.perf_counter()
        if not await store.message_search.index_missing():
            break
        longest = max(longest, time.perf_counter() - before)
    return f"indexing: {time.perf_counter() - started:.1f} s, the longest part {longest * 1000:.0f} ms"


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000))
