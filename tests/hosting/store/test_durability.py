"""What a host was told is kept is there after a kill, and whole: never a part of what belongs together."""

import asyncio
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from sophon.errors import NotFound
from sophon.messages import Message
from sophon.stores import SessionRecord
from sophon.testing import VirtualClock
from sophon_channels.outbound_entry import OutboundEntry
from sophon_hosting.store.events.logged_event import LoggedEvent
from sophon_hosting.store.runs.contract import InboundKey, Run, RunOutcome
from sophon_hosting.store.sql_host_store import SqlHostStore

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)
KEY = InboundKey("telegram", "bot-1", "42")
DONE = RunOutcome("completed", {"text": "hello"})


def part(name: str) -> OutboundEntry:
    return OutboundEntry(name, None, "telegram", "bot-1", "7", "text", {"text": name})


def said(text: str) -> SessionRecord:
    return SessionRecord("message", "r", Message("assistant", text))


def rows(folder: Path, query: str) -> list[tuple[Any, ...]]:
    connection = sqlite3.connect(folder / "s.db")
    try:
        return connection.execute(query).fetchall()
    finally:
        connection.close()


async def opened(folder: Path) -> SqlHostStore:
    store = SqlHostStore("sqlite:///s.db", folder=folder, clock=VirtualClock(auto=False))
    await store.open()
    return store


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqlHostStore]:
    store = await opened(tmp_path)
    yield store
    await store.close()


def lines_until_killed(program: str, folder: Path, enough: int) -> list[list[str]]:
    """Run a program that writes for ever, kill it after so many lines, and give all whole lines that it printed."""
    command = [sys.executable, "-c", COMMON + program, str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in range(enough)]
        process.kill()
        # A line that the kill cut short has no end.
        lines += [line for line in process.stdout if line.endswith("\n")]
    return [line.split() for line in lines]


COMMON = """
import asyncio, sys
from datetime import UTC, datetime
from pathlib import Path
from sophon.messages import Message
from sophon_hosting.store.runs.contract import InboundKey, Run, RunOutcome
from sophon_hosting.store.events.logged_event import LoggedEvent
from sophon_channels.outbound_entry import OutboundEntry
from sophon.stores import SessionRecord
from sophon_hosting.store.runs.sql_transactions import checkpoint_write
from sophon_hosting.store.sql_host_store import SqlHostStore
from sophon.stores.unit_of_work import UnitOfWork

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)

def start(*works):
    async def main():
        store = SqlHostStore("sqlite:///s.db", folder=Path(sys.argv[1]))
        await store.open()
        await asyncio.gather(*(work(store) for work in works))
        await store.close()
    asyncio.run(main())
"""

ACCEPTING = """
def accepting(who):
    async def work(store):
        n = 0
        while True:
            n += 1
            key = InboundKey("hub", who, str(n))
            answer = await store.runs.accept(Run(f"{who}-{n}", who, text="x" * 1000), key)
            print(who, n, answer.run.id, flush=True)
    return work

start(*(accepting(f"s{n}") for n in range(8)))
"""


async def test_a_kill_in_mid_write_loses_no_accepted_message(tmp_path: Path):
    acknowledged = lines_until_killed(ACCEPTING, tmp_path, 300)
    assert rows(tmp_path, "SELECT count(*) FROM runs WHERE number NOT IN (SELECT run FROM inbound)") == [(0,)]
    assert rows(tmp_path, "SELECT count(*) FROM inbound WHERE run NOT IN (SELECT number FROM runs)") == [(0,)]
    store = await opened(tmp_path)
    for who, n, run_id in acknowledged:
        again = await store.runs.accept(Run("another", who), InboundKey("hub", who, n))
        assert (again.created, again.run.id, again.run.text) == (False, run_id, "x" * 1000)
    waiting = [run.id for run in await store.runs.list_unfinished()]
    assert len(waiting) == len(set(waiting)) >= len(acknowledged)
    await store.close()


LIVING = """
def living(who):
    async def work(store):
        n = 0
        while True:
            n += 1
            name = f"{who}-{n}"
            await store.runs.accept(Run(name, who), InboundKey("hub", who, str(n)))
            await store.runs.begin(name, NOON)
            await store.runs.record(who, UnitOfWork([checkpoint_write(name, {"iteration": n})]), [])
            await store.runs.finish(
                name,
                RunOutcome("completed", {"text": name}),
                records=[SessionRecord("message", name, Message("assistant", name))],
                outbound=[OutboundEntry(f"{name}/{p}", None, "hub", "", who, "text", {}, p) for p in range(2)],
                events=lambda recorded: [LoggedEvent("message", {}, name), LoggedEvent("task_completed", {}, name)],
            )
            print(name, flush=True)
    return work

start(*(living(f"s{n}") for n in range(8)))
"""


async def test_a_kill_leaves_every_outcome_whole_or_not_at_all(tmp_path: Path):
    acknowledged = {name for (name,) in lines_until_killed(LIVING, tmp_path, 200)}
    store = await opened(tmp_path)
    left = await store.runs.list_unfinished()
    over = {name for (name,) in rows(tmp_path, "SELECT id FROM runs WHERE status = 'completed'")}
    assert acknowledged <= over
    assert not over & {run.id for run in left}
    assert sorted(over) == sorted(name for (name,) in rows(tmp_path, "SELECT run_id FROM records"))
    assert sorted([*over, *over]) == sorted(name for (name,) in rows(tmp_path, "SELECT run_id FROM outbound"))
    assert sorted([*over, *over]) == sorted(name for (name,) in rows(tmp_path, "SELECT task_id FROM events"))
    for run in left:
        assert (await store.runs.begin(run.id, NOON)).verdict == "begun"
        assert (await store.runs.finish(run.id, DONE)).is_first
    await store.close()


SENDING = """
async def sending(store):
    await store.outbox.add([OutboundEntry(str(n), None, "telegram", "", str(n), "text", {}) for n in range(3)])
    for n in range(3):
        await store.outbox.mark_sending(str(n))
    await store.outbox.mark_sent("1", "msg-1")
    print("sending", flush=True)
    await asyncio.Event().wait()

start(sending)
"""


async def test_what_a_killed_process_was_sending_is_in_doubt_for_the_next(tmp_path: Path):
    lines_until_killed(SENDING, tmp_path, 1)
    store = await opened(tmp_path)
    assert [entry.id for entry in await store.outbox.recover_interrupted("telegram")] == ["0", "2"]
    due = await store.outbox.list_due(NOON, "telegram")
    assert [(entry.id, entry.status, entry.doubtful, entry.interruptions) for entry in due] == [
        ("0", "ambiguous", True, 1),
        ("2", "ambiguous", True, 1),
    ]
    await store.close()


RIVAL = """
async def rival(store):
    print("ready", flush=True)
    me = sys.stdin.readline().strip()
    for n in range(40):
        answer = await store.runs.accept(Run(f"{me}-{n}", "s"), InboundKey("telegram", "bot-1", str(n)))
        await store.events.append("s", [LoggedEvent("task_queued", {}, answer.run.id)])
        print(n, answer.run.id, answer.created, flush=True)

start(rival)
"""


async def test_processes_that_are_given_the_same_messages_accept_each_once(tmp_path: Path):
    await (await opened(tmp_path)).close()
    command = [sys.executable, "-W", "error", "-c", COMMON + RIVAL, str(tmp_path)]
    pipe = subprocess.PIPE
    rivals = [subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) for _ in range(3)]
    for process in rivals:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for name, process in zip("abc", rivals, strict=True):
        assert process.stdin is not None
        process.stdin.write(f"{name}\n")
        process.stdin.flush()
    told = [line.split() for process in rivals for line in process.communicate()[0].splitlines()]
    assert len(told) == 3 * 40
    assert len({(n, run_id) for n, run_id, _ in told}) == 40
    assert sum(created == "True" for _, _, created in told) == 40
    assert rows(tmp_path, "SELECT count(*), min(key % (1 << 32)), max(key % (1 << 32)) FROM events") == [(120, 1, 120)]


async def test_everything_is_there_after_a_reopen(store: SqlHostStore, tmp_path: Path):
    await store.runs.accept(Run("r", "s", "ada"), KEY)
    await store.runs.begin("r", NOON)
    run = await store.runs.suspend("r", {"iteration": 3}, ["apr_1"])
    await store.outbox.add([part("e")])
    entry = await store.outbox.mark_sending("e")
    await store.events.append("s", [LoggedEvent("approval_requested", {"approval_id": "apr_1"}, "r")])
    events = await store.events.list_after("s", 0)
    await store.close()

    again = await opened(tmp_path)
    assert await again.runs.list_unfinished() == [run]
    assert (await again.runs.accept(Run("q", "s"), KEY)).run == run
    assert await again.outbox.get("e") == entry
    assert await again.events.list_after("s", 0) == events
    await again.close()


async def test_a_message_whose_sender_stopped_waiting_is_accepted_all_the_same(store: SqlHostStore):
    task = asyncio.ensure_future(store.runs.accept(Run("r", "s"), KEY))
    await asyncio.sleep(0)
    task.cancel()
    again = await store.runs.accept(Run("q", "s"), KEY)
    assert (again.run.id, again.created, task.cancelled()) == ("r", False, True)


async def test_an_outcome_that_fails_at_its_last_part_leaves_none_of_the_others(store: SqlHostStore):
    endless: dict[str, object] = {}
    endless["again"] = endless
    await store.runs.accept(Run("r", "s"))
    before = await store.runs.get("r")
    events = [LoggedEvent("e", {}), LoggedEvent("e", endless)]
    with pytest.raises(ValueError, match="Circular"):
        await store.runs.finish("r", DONE, records=[said("x")], outbound=[part("x")], events=lambda recorded: events)
    assert await store.runs.get("r") == before
    assert (await store.sessions.list_records("s"), await store.outbox.list()) == ([], [])
    assert await store.events.last_seq("s") == 0
    assert (await store.runs.finish("r", DONE)).is_first


async def test_a_refusal_does_not_spoil_what_is_accepted_beside_it(store: SqlHostStore, tmp_path: Path):
    good = [store.runs.accept(Run(f"r{n}", "s"), InboundKey("hub", "ada", str(n))) for n in range(20)]
    bad = [store.runs.begin("nobody", NOON) for _ in range(20)]
    mixed = [each for pair in zip(good, bad, strict=True) for each in pair]
    outcomes = await asyncio.gather(*mixed, return_exceptions=True)
    assert all(isinstance(outcome, NotFound) for outcome in outcomes[1::2])
    assert [run.id for run in await store.runs.list_unfinished()] == [f"r{n}" for n in range(20)]
    assert rows(tmp_path, "SELECT count(*) FROM inbound") == [(20,)]
