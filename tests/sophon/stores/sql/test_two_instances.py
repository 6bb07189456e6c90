"""Two processes on one database see what the other writes: nothing that a store keeps in memory is stale."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from sophon.messages import Message
from sophon.stores import SessionRecord
from sophon.testing import VirtualClock
from sophon_hosting.store.events.logged_event import LoggedEvent
from sophon_hosting.store.runs.contract import Run, RunOutcome
from sophon_hosting.store.sql_host_store import SqlHostStore
from tests import postgres
from tests.databases import SQLITE, copy_database

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
DONE = RunOutcome("completed", {"text": "done"})


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=postgres.needs_postgres)])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        copy_database(tmp_path)
        return SQLITE
    postgres.without_rows()
    return postgres.MIGRATED


@pytest.fixture
async def stores(url: str, tmp_path: Path) -> AsyncIterator[tuple[SqlHostStore, SqlHostStore]]:
    one, other = (SqlHostStore(url, folder=tmp_path, clock=VirtualClock(auto=False)) for _ in range(2))
    await one.open()
    await other.open()
    yield one, other
    await one.close()
    await other.close()


def said(text: str) -> SessionRecord:
    return SessionRecord("message", "r", Message("user", text))


async def test_histories_that_both_have_cached_grow_with_what_either_appends(
    stores: tuple[SqlHostStore, SqlHostStore],
) -> None:
    texts = [f"message {number}" for number in range(6)]
    for number, text in enumerate(texts):
        await stores[number % 2].sessions.append("s", [said(text)])
        for store in stores:
            history = await store.sessions.load_history("s")
            assert [each.content for each in history.messages] == texts[: number + 1]


async def test_a_history_of_a_session_that_the_other_has_deleted_and_made_again_is_the_new_one(
    stores: tuple[SqlHostStore, SqlHostStore],
) -> None:
    one, other = stores
    await one.sessions.append("s", [said("old"), said("older")])
    assert len((await other.sessions.load_history("s")).messages) == 2
    await one.sessions.delete("s")
    assert (await other.sessions.load_history("s")).messages == []
    await one.sessions.append("s", [said("new"), said("newer"), said("newest")])
    assert [each.content for each in (await other.sessions.load_history("s")).messages] == ["new", "newer", "newest"]


async def test_turns_of_one_session_alternate_between_both(stores: tuple[SqlHostStore, SqlHostStore]) -> None:
    for number in range(6):
        accepting, running = stores[number % 2], stores[(number + 1) % 2]
        run_id = f"r{number}"
        await accepting.runs.accept(Run(run_id, "s", "ada"), events=lambda _: [LoggedEvent("task_queued", {}, "r")])
        assert (await running.runs.begin(run_id, NOON, seen_starts=0)).verdict == "begun"
        assert (await accepting.runs.begin(f"r{number}", NOON)).run.starts == 2  # the other one continues it
        finished = await accepting.runs.finish(run_id, DONE, start=2)
        assert (finished.is_first, finished.seq) == (True, number + 1)
    events = await stores[0].events.list_after("s", 0)
    assert [each.seq for each in events] == [1, 2, 3, 4, 5, 6]
    assert [each.status for each in await stores[1].runs.list()] == ["completed"] * 6


async def test_of_two_that_ask_for_a_lease_one_has_it(stores: tuple[SqlHostStore, SqlHostStore]) -> None:
    one, other = stores
    lease = await one.leases.acquire("leader", "one", 3600)
    assert lease is not None
    assert await other.leases.acquire("leader", "other", 3600) is None
    assert await other.leases.list() == [lease]
    await one.leases.release("leader", "one")
    taken = await other.leases.acquire("leader", "other", 3600)
    assert taken is not None
    assert taken.token > lease.token
