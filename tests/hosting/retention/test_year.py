"""Months of a host: what it stores and keeps in memory after 66 days is what it has after 180."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from sophon.models.token_counter import MAX_CACHED_TOOL_SETS
from sophon.stores.memories.similarity_search import MAX_STATES
from sophon.stores.sql.schema import metadata
from sophon_hosting.retention import RetentionSweep
from sophon_hosting.store.factory import host_store_from_url
from sophon_middlewares.guards.rate_limit import MAX_KNOWN_LIMITS
from tests.hosting.retention.year import LeapingClock, Year

EARLY_DAYS, LATE_DAYS = 66, 180
"""Everything has its full number on the first of them: spending is kept for two months. What is written once a week and
never deleted has almost three times as many rows on the other."""

KEPT = {
    "records",  # of the one session that somebody uses all the time
    "texts",  # those of that session's messages
    "snapshot_chains",  # the two ends of the chain of each person, whose numbers are never used twice
    *("SessionRecord.data", "Message.tool_calls", "ToolCall.arguments"),
    "CachedHistory.messages",
    # Labels of files that were written after an upload was read; that of a session goes with it.
    "data_labels",
}
"""Tables and collections that grow by definition: messages stay with their session."""

BOUNDED = {
    "RateLimit._limits": MAX_KNOWN_LIMITS,
    "MemoryVectorCache._states": MAX_STATES,
    "TokenCounter._tool_set_counts": MAX_CACHED_TOOL_SETS,
}
"""Caches of the process that forget what is beyond a number."""

UNUSED = {
    *("claims", "memories", "preferences", "probes", "leases", "texts", "checkpoint_logs", "journal"),
    *("budget_alerts", "rate_events", "vectors", "message_index"),
}
"""Tables without rows at the end of a day, those whose rows only people add and remove, and those of what is off."""


@pytest.fixture(autouse=True)
def no_sweep_of_the_host(monkeypatch: pytest.MonkeyPatch) -> None:
    """The simulation sweeps itself, so that it can do without."""

    async def wait(_: RetentionSweep) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(RetentionSweep, "run_forever", wait)


@pytest.fixture
async def year(tmp_path: Path) -> AsyncIterator[Year]:
    clock = LeapingClock(auto=False)
    store = host_store_from_url("memory://", folder=tmp_path, clock=clock)
    await store.open()
    year = Year(store, clock, tmp_path)
    await year.start()
    yield year
    await year.stop()
    await store.close()


def find_growth(early: Counter[str], late: Counter[str]) -> dict[str, tuple[int, int]]:
    """Return what has grown by more than a week makes a difference, with both counts."""
    return {name: (early[name], count) for name, count in late.items() if count > early[name] * 1.25 + 10}


async def test_a_host_that_runs_for_months_does_not_grow(year: Year) -> None:
    await year.live(EARLY_DAYS)
    rows, held, files = await year.count_rows(), year.count_in_memory(), year.count_files()
    await year.live(LATE_DAYS - EARLY_DAYS)
    grown = find_growth(rows, await year.count_rows())
    assert {name: counts for name, counts in grown.items() if name not in KEPT} == {}
    grown = find_growth(held, year.count_in_memory())
    beyond = {name: counts for name, counts in grown.items() if counts[1] > BOUNDED.get(name, 0)}
    assert {name: counts for name, counts in beyond.items() if name not in KEPT} == {}
    assert year.count_files() <= files + 10
    assert {table.name for table in metadata.sorted_tables} - year.used <= UNUSED, "each table must have rows"


async def test_without_the_sweep_it_grows(year: Year) -> None:
    year.sweeps = False
    await year.live(10)
    rows = await year.count_rows()
    await year.live(40)
    grown = set(find_growth(rows, await year.count_rows()))
    expected = {"sessions", "runs", "events", "audit", "turn_traces", "outbound", "attempts", "spending"}
    assert expected <= grown, expected - grown
