"""What every store promises about the things that belong to a session: they come with it and go with it."""

import asyncio

import pytest

from sophon.errors import NotFound
from sophon.messages import Message
from sophon.stores import SessionRecord, Store
from sophon.testing import VirtualClock
from sophon_channels.outbound_entry import OutboundEntry
from sophon_hosting.store.events.logged_event import LoggedEvent
from sophon_hosting.store.runs.contract import InboundKey, Run, RunOutcome

KEY = InboundKey("telegram", "bot-1", "42")
HELLO = SessionRecord("message", "r", Message("user", "hello"))


def part(name: str, run_id: str | None) -> OutboundEntry:
    return OutboundEntry(name, run_id, "telegram", "bot-1", "7", "text", {"text": name})


async def fill(store: Store, session_id: str, run_id: str, key: InboundKey | None = None) -> None:
    await store.runs.accept(Run(run_id, session_id, "ada"), key)
    await store.sessions.append(session_id, [HELLO])
    await store.events.append(session_id, [LoggedEvent("task_queued", {}, run_id)])
    await store.outbox.add([part(f"of {run_id}", run_id)])


async def test_a_session_is_made_once_and_its_owner_stays(store: Store, clock: VirtualClock):
    made = await store.sessions.get_or_create("s", "ada")
    assert (made.id, made.owner, made.message_count, made.created_at) == ("s", "ada", 0, clock.now())
    assert await store.sessions.get_or_create("s", "bob") == made
    assert (await store.sessions.find("s"), await store.sessions.find("other")) == (made, None)
    assert await store.sessions.list("ada") == [made]


async def test_of_twenty_who_make_a_session_all_are_told_the_same_owner(store: Store):
    found = await asyncio.gather(*(store.sessions.get_or_create("s", f"user-{n}") for n in range(20)))
    assert {summary.owner for summary in found} == {(await store.sessions.get("s")).owner}


async def test_a_session_without_a_record_takes_its_first(store: Store):
    await store.sessions.get_or_create("s", "ada")
    assert await store.sessions.append("s", [HELLO], owner="bob") == 1
    summary = await store.sessions.get("s")
    assert (summary.owner, summary.message_count) == ("ada", 1)


async def test_all_that_belongs_to_a_session_goes_with_it(store: Store):
    await fill(store, "s", "r", KEY)
    await store.sessions.delete("s")
    with pytest.raises(NotFound):
        await store.runs.get("r")
    with pytest.raises(NotFound):
        await store.outbox.get("of r")
    with pytest.raises(NotFound):
        await store.events.append("s", [LoggedEvent("late", {})])
    assert (await store.runs.list(), await store.runs.list_unfinished(), await store.outbox.list()) == ([], [], [])
    assert (await store.events.list_after("s", 0), await store.events.last_seq("s")) == ([], 0)


async def test_other_sessions_and_entries_of_no_run_stay(store: Store):
    await fill(store, "s", "r")
    await fill(store, "t", "q", KEY)
    await store.outbox.add([part("of nobody", None)])
    await store.sessions.delete("s")
    assert (await store.runs.accept(Run("new", "t"), KEY)).run.id == "q"
    assert [entry.id for entry in await store.outbox.list()] == ["of q", "of nobody"]
    assert await store.events.last_seq("t") == 1


async def test_a_turn_that_outlives_its_session_brings_nothing_back(store: Store):
    await fill(store, "s", "r")
    await store.sessions.delete("s")
    with pytest.raises(NotFound):
        await store.runs.finish("r", RunOutcome("completed", {}), records=[HELLO], events=[LoggedEvent("e", {})])
    assert await store.sessions.list() == []


async def test_a_session_with_the_same_id_begins_anew(store: Store):
    await fill(store, "s", "r", KEY)
    await store.sessions.delete("s")
    assert (await store.runs.accept(Run("r", "s", "bob"), KEY)).created
    assert await store.events.append("s", [LoggedEvent("task_queued", {})]) == 1
    assert (await store.sessions.get("s")).owner == "bob"


async def test_a_fork_takes_neither_runs_nor_events_with_it(store: Store):
    await fill(store, "s", "r")
    await store.sessions.fork("s", "t")
    assert len(await store.sessions.list_records("t")) == 1
    assert (await store.runs.list(session_id="t"), await store.events.last_seq("t")) == ([], 0)
    assert len(await store.outbox.list()) == 1
    assert await store.events.append("t", [LoggedEvent("task_queued", {})]) == 1
