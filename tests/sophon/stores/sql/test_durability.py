"""What was acknowledged is there: after a reopen, after a kill, beside another process."""

import asyncio
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from sophon.approvals import ApprovalRequest, Decision
from sophon.errors import NotFound, StoreError
from sophon.messages import Message, ToolCall, ToolResult, Usage
from sophon.stores.memories.contract import MemoryEntry
from sophon.stores.sessions.contract import SessionRecord
from sophon.stores.usage.contract import Period, ProviderLimits, Reservation, Spending, UsageRow
from sophon.testing import VirtualClock
from sophon.tools.tool import Risk
from sophon_hosting.store.sql_host_store import SqlHostStore

TODAY = Period("2026-01-31", "2026-01")
NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)


def said(text: str) -> SessionRecord:
    return SessionRecord("message", "r", Message("user", text))


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqlHostStore]:
    store = SqlHostStore("sqlite:///s.db", folder=tmp_path, clock=VirtualClock(auto=False), lock_timeout_seconds=0.1)
    await store.open()
    yield store
    await store.close()


async def test_everything_is_there_after_a_reopen(store: SqlHostStore, tmp_path: Path):
    request = ApprovalRequest.from_call(ToolCall("c", "t"), "run", Risk.HIGH)
    result = ToolResult("c", "t", "done")
    await store.sessions.append("s", [said("hello")])
    await store.approvals.get_or_create(request, NOON)
    await store.approvals.decide(request.id, Decision.approve(), NOON)
    await store.journal.finish("run", result)
    await store.memories.write(MemoryEntry("m", "cat"))
    claim = await store.usage.reserve("p", TODAY, Usage(9), ProviderLimits())
    assert isinstance(claim, Reservation)
    await store.usage.settle(claim, UsageRow("p", "m", "reply", "s", "run", Usage(4, 1, 7), TODAY, NOON))
    await store.close()

    again = SqlHostStore("sqlite:///s.db", folder=tmp_path)
    await again.open()
    assert (await again.sessions.load_history("s")).messages == [Message("user", "hello")]
    assert (await again.approvals.get(request.id)).decision == Decision.approve()
    assert (await again.journal.load_entries("run"))["c"].result == result
    assert [entry.text for entry in await again.memories.search("cats")] == ["cat"]
    assert await again.usage.get_spending("p", TODAY) == Spending(5, 7)
    assert (await again.usage.list_totals())[0].usage == Usage(4, 1, 7)
    await again.close()


async def test_a_closed_store_can_be_opened_again(store: SqlHostStore):
    await store.sessions.append("s", [said("a")])
    await store.close()
    await store.close()
    await store.open()
    await store.open()
    assert await store.sessions.append("s", [said("b")]) == 2


async def test_a_store_that_is_not_open_says_so(store: SqlHostStore):
    await store.close()
    with pytest.raises(StoreError, match="is not open"):
        await store.sessions.append("s", [said("a")])
    with pytest.raises(StoreError, match="is not open"):
        await store.sessions.list()


async def test_closing_writes_what_is_under_way(store: SqlHostStore):
    writes = [asyncio.ensure_future(store.sessions.append("s", [said(str(n))])) for n in range(300)]
    await asyncio.sleep(0)
    await store.close()
    assert sorted(await asyncio.gather(*writes)) == list(range(1, 301))


WRITER = """
import asyncio, sys
from pathlib import Path
from sophon.messages import Message
from sophon.stores.sessions.contract import SessionRecord
from sophon_hosting.store.sql_host_store import SqlHostStore

async def write(store, name):
    while True:
        seq = await store.sessions.append(name, [SessionRecord("message", "r", Message("user", "x" * 2000))])
        print(name, seq, flush=True)

async def main():
    store = SqlHostStore("sqlite:///s.db", folder=Path(sys.argv[1]))
    await store.open()
    await asyncio.gather(*(write(store, f"s{n}") for n in range(8)))

asyncio.run(main())
"""


async def test_a_kill_in_mid_write_loses_nothing_that_was_acknowledged(tmp_path: Path):
    with subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        acknowledged = [process.stdout.readline() for _ in range(300)]
        process.kill()
        # A line that the kill cut short has no end.
        acknowledged += [line for line in process.stdout if line.endswith("\n")]
    last = {name: int(seq) for name, seq in (line.split() for line in acknowledged)}

    store = SqlHostStore("sqlite:///s.db", folder=tmp_path)
    await store.open()
    for name, seq in last.items():
        log = await store.sessions.list_records(name)
        assert len(log) >= seq
        assert [record.seq for record in log] == list(range(1, len(log) + 1))
    await store.close()


async def test_a_write_that_fails_does_not_spoil_its_neighbours(store: SqlHostStore):
    good = [store.sessions.append("s", [said(str(n))]) for n in range(20)]
    bad = [store.sessions.rename("nobody", "x") for _ in range(20)]
    mixed = [each for pair in zip(good, bad, strict=True) for each in pair]
    outcomes = await asyncio.gather(*mixed, return_exceptions=True)
    assert sorted(outcomes[0::2]) == list(range(1, 21))
    assert all(isinstance(outcome, NotFound) for outcome in outcomes[1::2])
    assert len((await store.sessions.load_history("s")).messages) == 20


async def test_a_write_that_fails_half_way_leaves_nothing_of_itself(store: SqlHostStore):
    endless: dict[str, object] = {}
    endless["again"] = endless
    bad = SessionRecord("failed", "r", data=endless)
    good = [store.sessions.append("s", [said(str(n))]) for n in range(10)]
    outcomes = await asyncio.gather(
        *good, *(store.sessions.append("s", [bad]) for _ in range(10)), return_exceptions=True
    )
    assert sorted(outcomes[:10]) == list(range(1, 11))
    assert all(isinstance(outcome, ValueError) for outcome in outcomes[10:])
    assert await store.sessions.append("s", [said("next")]) == 11


async def test_a_write_whose_caller_was_cancelled_is_done_all_the_same(store: SqlHostStore):
    task = asyncio.ensure_future(store.sessions.append("s", [said("a")]))
    await asyncio.sleep(0)
    task.cancel()
    assert await store.sessions.append("s", [said("b")]) == 2
    assert task.cancelled()


async def test_two_stores_on_one_file_see_each_others_writes(store: SqlHostStore, tmp_path: Path):
    other = SqlHostStore("sqlite:///s.db", folder=tmp_path)
    await other.open()
    writes = [each.sessions.append("s", [said("x")]) for each in (store, other) for _ in range(30)]
    assert sorted(await asyncio.gather(*writes)) == list(range(1, 61))
    assert len((await other.sessions.load_history("s")).messages) == 60
    await other.close()


async def test_a_file_that_another_process_keeps_locked_gives_a_clear_error(store: SqlHostStore, tmp_path: Path):
    other = sqlite3.connect(tmp_path / "s.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreError, match="another process keeps it locked"):
        await store.sessions.append("s", [said("a")])
    assert await store.sessions.list() == []
    other.execute("ROLLBACK")
    other.close()
    assert await store.sessions.append("s", [said("a")]) == 1


async def test_reading_and_writing_leave_the_event_loop_free(store: SqlHostStore, tmp_path: Path):
    other = sqlite3.connect(tmp_path / "s.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    waiting = asyncio.ensure_future(store.sessions.append("s", [said("a")]))
    turns = 0
    while not waiting.done():
        turns += 1
        await asyncio.sleep(0)
    assert turns > 100
    assert isinstance(waiting.exception(), StoreError)
    other.execute("ROLLBACK")
    other.close()
