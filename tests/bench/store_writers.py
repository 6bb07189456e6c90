"""What several processes write into one PostgreSQL store: transactions a second of 1, 2, 4 and 8 processes.

Each process writes what a turn writes (accept, begin with a record, finish with a record), one turn at a time or
several; the baseline is the bare driver, which takes the same lock and inserts a row.
`python -m tests.bench.store_writers`; needs
SOPHON_TEST_POSTGRES.
"""

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import psycopg

from sophon.messages import Message
from sophon.stores import SessionRecord
from sophon.stores.sql.dialects import WRITE_LOCK_KEY
from sophon_hosting.store.factory import host_store_from_url
from sophon_hosting.store.runs.contract import Run, RunOutcome
from tests import postgres

SECONDS = 3.0
PROCESSES = (1, 2, 4, 8)
COMMITS_PER_TURN = 3
DONE = RunOutcome("completed", {"text": "A short answer.", "finish_reason": "stop", "usage": {}})


async def write_turns(url: str, name: str, concurrent: int) -> int:
    """Write turns for `SECONDS`, in as many sessions as are `concurrent`; return how many."""
    store = host_store_from_url(url, folder=Path())
    await store.open()
    await store.sessions.get_or_create(name, "bench")
    print("ready", flush=True)
    sys.stdin.readline()
    until, counts = time.perf_counter() + SECONDS, [0] * concurrent

    async def talk(number: int) -> None:
        session_id = f"{name}-{number}"
        while time.perf_counter() < until:
            run_id, now = f"{session_id}-{counts[number]}", datetime.now(UTC)
            await store.runs.accept(Run(run_id, session_id, "bench", text="Hello"))
            said = SessionRecord("message", run_id, Message("user", "Hello"))
            await store.runs.begin(run_id, now, records=[said], seen_starts=0)
            answered = SessionRecord("message", run_id, Message("assistant", "A short answer."))
            await store.runs.finish(run_id, DONE, records=[answered], start=1)
            counts[number] += 1

    await asyncio.gather(*map(talk, range(concurrent)))
    await store.close()
    return sum(counts)


def write_bare(url: str) -> int:
    """Take the lock, insert a row and commit, for `SECONDS`; return how often."""
    count = 0
    with psycopg.connect(url) as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS bench (text TEXT)")
        connection.commit()
        print("ready", flush=True)
        sys.stdin.readline()
        until = time.perf_counter() + SECONDS
        while time.perf_counter() < until:
            connection.execute(f"SELECT pg_advisory_xact_lock({WRITE_LOCK_KEY})")
            connection.execute("INSERT INTO bench VALUES (%s)", ("A short answer.",))
            connection.commit()
            count += 1
    return count


def run_processes(kind: str, processes: int, concurrent: int) -> float:
    """Return what all processes together have done per second."""
    postgres.without_rows()
    arguments = [sys.executable, "-m", "tests.bench.store_writers", postgres.MIGRATED, kind]
    pipe = subprocess.PIPE
    started = [
        subprocess.Popen([*arguments, f"p{number}", str(concurrent)], stdin=pipe, stdout=pipe, text=True)
        for number in range(processes)
    ]
    for process in started:
        assert process.stdout is not None
        process.stdout.readline()
    for process in started:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    return sum(int(process.communicate()[0]) for process in started) / SECONDS


def measure(line: Callable[[str, float, str, str, float], None]) -> None:
    """Print turns a second of so many processes, beside what the bare driver commits with the same lock."""
    if not os.environ.get("SOPHON_TEST_POSTGRES"):
        return
    for processes in PROCESSES:
        bare = run_processes("bare", processes, 1) / COMMITS_PER_TURN
        for concurrent in (1, 16):
            turns = run_processes("turns", processes, concurrent)
            what = f"turns a second, {processes} processes of {concurrent} at once, PostgreSQL"
            line(what, turns, "", "3 bare commits each", bare)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        _, url, kind, name, concurrent = sys.argv
        print(write_bare(url) if kind == "bare" else asyncio.run(write_turns(url, name, int(concurrent))))
    else:
        measure(lambda what, ours, unit, baseline, base: print(f"{what}: {ours:.0f} {unit}; {baseline}: {base:.0f}"))
