"""What every store promises about the events of a session."""

import asyncio
from datetime import timedelta

import pytest

from sophon.errors import NotFound
from sophon.stores import Store
from sophon.testing import VirtualClock
from sophon_channels.outbound_entry import OutboundEntry
from sophon_hosting.store.events.logged_event import LoggedEvent, LogPosition


def events(*names: str) -> list[LoggedEvent]:
    return [LoggedEvent(name, {"text": f"{name} \ud83d", "deep": {"n": [1, None]}}, "task-1") for name in names]


async def seqs(store: Store, after: int = 0, session_id: str = "s") -> list[int]:
    return [event.seq for event in await store.events.list_after(session_id, after)]


@pytest.fixture
async def log(store: Store) -> Store:
    await store.sessions.get_or_create("s", "ada")
    return store


async def test_events_are_numbered_from_one_without_gaps(log: Store):
    assert await log.events.append("s", events("a", "b")) == 2
    assert await log.events.append("s", []) == 2
    assert await log.events.append("s", events("c")) == 3
    assert (await seqs(log), await log.events.last_seq("s")) == ([1, 2, 3], 3)


async def test_an_event_comes_back_as_it_was(log: Store, clock: VirtualClock):
    await log.events.append("s", events("a"))
    (event,) = await log.events.list_after("s", 0)
    (sent,) = events("a")
    assert event == LoggedEvent("a", sent.data, "task-1", 1, clock.now())


async def test_a_client_catches_up_from_where_it_was(log: Store):
    await log.events.append("s", events(*"abcde"))
    assert [event.name for event in await log.events.list_after("s", 3)] == ["d", "e"]
    assert [event.name for event in await log.events.list_after("s", 1, limit=2)] == ["b", "c"]
    assert (
        await log.events.list_after("s", 5)
        == await log.events.list_after("s", 99)
        == await log.events.list_after("s", 0, 0)
        == []
    )
    assert await seqs(log, -3) == [1, 2, 3, 4, 5]


async def test_the_sequences_of_two_sessions_do_not_mix(log: Store):
    await log.sessions.get_or_create("t")
    await log.events.append("s", events("a", "b"))
    assert await log.events.append("t", events("c")) == 1
    assert (await seqs(log), await seqs(log, session_id="t")) == ([1, 2], [1])


async def test_many_writers_of_one_session_leave_no_gap(log: Store):
    given = await asyncio.gather(*(log.events.append("s", events("a", "b")) for _ in range(50)))
    assert sorted(given) == list(range(2, 101, 2))
    assert await seqs(log) == list(range(1, 101))


async def test_a_session_that_does_not_exist_takes_no_events_and_has_none(store: Store):
    with pytest.raises(NotFound, match="session 'nowhere'"):
        await store.events.append("nowhere", events("a"))
    assert (await store.events.list_after("nowhere", 0), await store.events.last_seq("nowhere")) == ([], 0)
    assert await store.events.trim("nowhere", 0) == 0


async def test_the_log_is_not_changed_by_what_its_readers_and_writers_do(log: Store):
    data = {"text": "mine"}
    await log.events.append("s", [LoggedEvent("a", data)])
    data["text"] = "changed"
    (await log.events.list_after("s", 0))[0].data["text"] = "changed"  # type: ignore[index]
    assert (await log.events.list_after("s", 0))[0].data == {"text": "mine"}


async def test_trimming_keeps_the_newest_and_the_numbers(log: Store):
    await log.events.append("s", events(*"abcde"))
    assert await log.events.trim("s", 2) == 3
    assert (await seqs(log), await seqs(log, 4), await log.events.trim("s", 2)) == ([4, 5], [5], 0)
    assert await log.events.trim("s", 0) == 2
    assert (await seqs(log), await log.events.last_seq("s")) == ([], 5)
    assert await log.events.append("s", events("f")) == 6
    assert await seqs(log) == [6]


async def test_a_trim_leaves_other_sessions_alone(log: Store):
    await log.sessions.get_or_create("t")
    for session in ("s", "t"):
        await log.events.append(session, events(*"abc"))
    await log.events.trim("s", 1)
    assert (await seqs(log), await seqs(log, session_id="t")) == ([3], [1, 2, 3])


async def test_what_is_old_expires_in_every_session(log: Store, clock: VirtualClock):
    await log.sessions.get_or_create("t")
    await log.events.append("s", events("a", "b"))
    await log.events.append("t", events("a"))
    await clock.advance(60)
    await log.events.append("s", events("c"))
    assert await log.events.expire(clock.now() - timedelta(seconds=60)) == 0
    assert await log.events.expire(clock.now()) == 3
    assert (await seqs(log), await log.events.last_seq("t")) == ([3], 1)
    assert await log.events.append("t", events("b")) == 2


async def test_much_that_is_old_expires_too(log: Store, clock: VirtualClock):
    for _ in range(12):
        await log.events.append("s", events(*"x" * 1000))
    await clock.advance(1)
    await log.events.append("s", events("new"))
    assert await log.events.expire(clock.now()) == 12_000
    assert await seqs(log) == [12_001]


@pytest.mark.parametrize("text", ["größe 🐱 猫", "nul \x00 in it", "lone \ud83d surrogate", "\x1a0041"])
async def test_any_text_comes_back(store: Store, text: str):
    await store.sessions.get_or_create(text)
    await store.events.append(text, [LoggedEvent(text, {text: text}, text)])
    (event,) = await store.events.list_after(text, 0)
    assert (event.name, event.data, event.task_id) == (text, {text: text}, text)


def with_entry(name: str, entry_id: str, run_id: str | None = None) -> LoggedEvent:
    entry = OutboundEntry(entry_id, run_id, "webhook", "", "monitor", name, {"event": name})
    return LoggedEvent(name, {}, "task-1", outbound=(entry,))


async def test_outbound_entries_are_added_with_their_event(log: Store):
    await log.events.append("s", [with_entry("a", "w:1"), *events("b"), with_entry("c", "w:2")])
    entries = await log.outbox.list(channel="webhook")
    assert [(entry.id, entry.kind, entry.status) for entry in entries] == [
        ("w:1", "a", "pending"),
        ("w:2", "c", "pending"),
    ]
    assert all(not event.outbound for event in await log.events.list_after("s", 0))


async def test_without_the_event_there_is_no_entry_and_without_the_entry_no_event(log: Store):
    with pytest.raises(NotFound):
        await log.events.append("unknown", [with_entry("a", "w:1")])
    with pytest.raises(NotFound):
        await log.events.append("s", [with_entry("a", "w:1", run_id="unknown")])
    assert await log.outbox.list(channel="webhook") == []
    assert await log.events.last_seq("s") == 0


async def test_where_many_logs_are_is_one_question(log: Store):
    await log.sessions.get_or_create("t", "ada")
    await log.events.append("s", events("a", "b"))
    await log.events.trim("s", 0)
    found = await log.events.find_positions(["s", "t", "nowhere", *(f"other {number}" for number in range(600))])
    assert {each: position.seq for each, position in found.items()} == {"s": 2, "t": 0}
    await log.events.append("t", events("c"))
    assert (await log.events.find_positions(["t"]))["t"] == LogPosition(found["t"].session, 1)
    assert await log.events.find_positions([]) == {}


async def test_a_later_session_of_the_same_id_is_another_one(log: Store):
    await log.sessions.get_or_create("last", "ada")  # SQLite may give the number of its last row again
    before = (await log.events.find_positions(["s"]))["s"]
    await log.sessions.delete("s")
    await log.sessions.get_or_create("s", "bob")
    after = (await log.events.find_positions(["s"]))["s"]
    assert after.session != before.session
