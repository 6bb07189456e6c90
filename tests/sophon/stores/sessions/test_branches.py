"""What every store promises about the branches of a conversation."""

from datetime import UTC, datetime, timedelta

import pytest

from sophon.errors import Busy, InputError, NotFound, SessionTaken
from sophon.messages import Message, Usage
from sophon.stores.contract import Store
from sophon.stores.sessions.branches import BranchPoint, list_branch_points
from sophon.stores.sessions.contract import SessionBranch, SessionRecord
from sophon.stores.usage.contract import Period, UsageRow
from sophon.testing import VirtualClock
from sophon_hosting.store.runs.contract import InboundKey, Run, RunOutcome


def said(text: str, role: str = "user", run_id: str = "run") -> SessionRecord:
    return SessionRecord("message", run_id, Message(role, text))  # type: ignore[arg-type]


async def points(store: Store, session_id: str) -> list[BranchPoint]:
    return list_branch_points(session_id, await store.sessions.list_family(session_id))


@pytest.fixture
async def trip(store: Store, clock: VirtualClock) -> Store:
    return await _with_two_turns(store, clock)


@pytest.fixture
async def host_trip(host_store: Store, clock: VirtualClock) -> Store:
    return await _with_two_turns(host_store, clock)


async def _with_two_turns(store: Store, clock: VirtualClock) -> Store:
    """Store session `s` of two turns, in records 1 to 4."""
    await store.sessions.append(
        "s",
        [
            said("one", run_id="r1"),
            said("first", "assistant", "r1"),
            said("two", run_id="r2"),
            said("second", "assistant", "r2"),
        ],
        owner="ada",
    )
    await clock.advance(1)
    return store


async def test_a_branch_has_the_records_before_it_with_their_seqs_and_settings(trip: Store):
    await trip.sessions.rename("s", "Trip")
    await trip.sessions.set_model("s", "gpt-5")
    await trip.sessions.set_planning("s", "Always")
    await trip.sessions.fork("s", "b", upto=2, branch=True)
    branch = await trip.sessions.get("b")
    assert (branch.owner, branch.title, branch.model, branch.planning) == ("ada", "Trip", "gpt-5", "Always")
    assert (branch.forked_from, branch.forked_at, branch.family, branch.message_count) == ("s", 2, "s", 2)
    assert await trip.sessions.list_records("b") == (await trip.sessions.list_records("s"))[:2]
    assert await trip.sessions.append("b", [said("other")]) == 3


async def test_a_branch_before_the_first_message_is_empty(trip: Store):
    await trip.sessions.fork("s", "b", upto=0, branch=True)
    assert await trip.sessions.list_records("b") == []
    assert [point.seq for point in await points(trip, "b")] == [1]
    with pytest.raises(InputError, match="up to seq -1"):
        await trip.sessions.fork("s", "c", upto=-1, branch=True)


async def test_a_fork_is_a_conversation_of_its_own_that_knows_what_it_was_copied_of(trip: Store):
    await trip.sessions.fork("s", "f", upto=2)
    fork = await trip.sessions.get("f")
    assert (fork.forked_from, fork.forked_at, fork.family) == ("s", 2, None)
    assert [each.id for each in await trip.sessions.list_family("s")] == ["s"]
    await trip.sessions.delete("s")
    fork = await trip.sessions.get("f")
    assert (fork.forked_from, fork.forked_at) == (None, None)


async def test_branches_are_listed_as_the_one_that_was_changed_last(trip: Store, clock: VirtualClock):
    await trip.sessions.fork("s", "b", upto=2, branch=True)
    await clock.advance(1)
    await trip.sessions.append("other", [said("x")], owner="ada")
    page = await trip.sessions.list_page("ada")
    assert ([each.id for each in page.items], page.total) == (["other", "b"], 2)
    await clock.advance(1)
    await trip.sessions.append("s", [said("three", run_id="r3")])
    assert [each.id for each in (await trip.sessions.list_page("ada")).items] == ["s", "other"]
    assert [each.id for each in await trip.sessions.list("ada")] == ["s", "other", "b"]


async def test_pages_of_conversations_neither_repeat_nor_leave_out_one(store: Store, clock: VirtualClock):
    for name in ("a", "b", "c"):
        await store.sessions.append(name, [said(name)], owner="ada")
        await store.sessions.fork(name, f"{name}-1", upto=0, branch=True)
        await store.sessions.fork(name, f"{name}-2", upto=0, branch=True)
        await clock.advance(1)
    first = await store.sessions.list_page("ada", limit=2)
    second = await store.sessions.list_page("ada", limit=2, cursor=first.next_cursor)
    assert [each.id for page in (first, second) for each in page.items] == ["c-2", "b-2", "a-2"]
    assert (first.total, second.next_cursor) == (3, None)
    found = await store.sessions.list_page("ada", search="b-")
    assert [each.id for each in found.items] == ["b-2"]


async def test_a_title_is_that_of_all_branches(trip: Store):
    await trip.sessions.fork("s", "b", upto=2, branch=True)
    await trip.sessions.fork("s", "f")
    await trip.sessions.rename("b", "Holiday")
    assert [(await trip.sessions.get(each)).title for each in ("s", "b", "f")] == ["Holiday", "Holiday", ""]


async def test_deletion_removes_all_branches_and_nothing_else(trip: Store):
    await trip.sessions.fork("s", "b", upto=2, branch=True)
    await trip.sessions.fork("b", "c", upto=2, branch=True)
    await trip.sessions.fork("b", "f")
    await trip.sessions.delete("b")
    assert [each.id for each in await trip.sessions.list()] == ["f"]
    for name in ("s", "b", "c"):
        with pytest.raises(NotFound):
            await trip.sessions.delete(name)


async def test_a_conversation_is_not_deleted_while_a_branch_has_a_run(host_trip: Store):
    await host_trip.sessions.fork("s", "b", upto=2, branch=True)
    await host_trip.runs.accept(Run("r9", "b", "ada", text="x"))
    with pytest.raises(Busy):
        await host_trip.sessions.delete("s", unless_unfinished=True)
    assert len(await host_trip.sessions.list_family("s")) == 2


async def test_branches_are_idle_together(trip: Store, clock: VirtualClock):
    await trip.sessions.fork("s", "b", upto=2, branch=True)
    await clock.advance(100)
    limit = clock.now()
    await clock.advance(1)
    await trip.sessions.append("b", [said("late")])
    assert list(await trip.sessions.list_idle(limit)) == []
    assert not await trip.sessions.delete_idle("s", limit)
    later = clock.now() + timedelta(seconds=1)
    assert sorted(await trip.sessions.list_idle(later)) == ["b", "s"]
    assert await trip.sessions.delete_idle("s", later)
    assert await trip.sessions.list() == []


async def test_a_schedule_or_run_of_one_branch_keeps_the_others(host_trip: Store, clock: VirtualClock):
    await host_trip.sessions.fork("s", "b", upto=2, branch=True)
    await host_trip.runs.accept(Run("r9", "b", "ada", text="x"))
    await clock.advance(100)
    assert list(await host_trip.sessions.list_idle(clock.now())) == []


async def test_the_records_of_one_turn_are_found_in_its_copies_too(trip: Store):
    await trip.sessions.fork("s", "b", branch=True)
    for name in ("s", "b"):
        turn = await trip.sessions.list_turn(name, "r2")
        assert [(each.seq, each.message.content) for each in turn if each.message] == [(3, "two"), (4, "second")]
    assert await trip.sessions.list_turn("s", "nothing") == []
    with pytest.raises(NotFound):
        await trip.sessions.list_turn("nowhere", "r1")


async def test_a_message_is_accepted_with_the_branch_that_it_begins_once(host_trip: Store):
    key = InboundKey("hub", "ada", "m1")
    branch = SessionBranch("s", 2)
    run = Run("r9", "b", "ada", text="x")
    accepted = await host_trip.runs.accept(run, key, session_owner="ada", branch=branch)
    again = await host_trip.runs.accept(Run("r10", "c", "ada", text="x"), key, session_owner="ada", branch=branch)
    assert (accepted.created, again.created, again.run.id, again.run.session_id) == (True, False, "r9", "b")
    assert [each.id for each in await host_trip.sessions.list_family("s")] == ["s", "b"]
    assert len(await host_trip.sessions.list_records("b")) == 2


async def test_a_message_that_is_refused_leaves_no_branch(host_trip: Store):
    branch = SessionBranch("s", 2)
    with pytest.raises(SessionTaken):
        await host_trip.runs.accept(Run("r9", "b", "eve", text="x"), session_owner="eve", branch=branch)
    with pytest.raises(NotFound):
        await host_trip.runs.accept(Run("r9", "b", "ada", text="x"), branch=SessionBranch("nowhere", 2))
    with pytest.raises(InputError, match="exists already"):
        await host_trip.runs.accept(Run("r9", "s", "ada", text="x"), branch=branch)
    assert [each.id for each in await host_trip.sessions.list()] == ["s"]
    assert (await host_trip.sessions.get("s")).family is None
    assert await host_trip.runs.find("r9") is None


async def test_a_copy_has_no_runs_and_no_usage(host_trip: Store):
    await host_trip.runs.accept(Run("r2", "s", "ada", text="two"))
    day = Period("2026-01-01", "2026-01")
    row = UsageRow("p", "m", "reply", "s", "r2", Usage(10, 2, 3), day, datetime(2026, 1, 1, tzinfo=UTC))
    await host_trip.runs.finish("r2", RunOutcome("completed", {"text": "second"}), usage=[row])
    before = await host_trip.usage.list_totals()
    await host_trip.sessions.fork("s", "b", branch=True)
    assert await host_trip.runs.list(session_id="b") == []
    assert await host_trip.usage.list_totals(session_id="b") == []
    assert (await host_trip.usage.list_totals(), len(before)) == (before, 1)


async def test_planning_is_read_with_the_history(trip: Store):
    assert (await trip.sessions.load_history("s")).planning is None
    await trip.sessions.set_planning("s", "Never")
    assert (await trip.sessions.load_history("s")).planning == "Never"
    await trip.sessions.set_planning("s", None)
    assert (await trip.sessions.get("s")).planning is None
    with pytest.raises(NotFound):
        await trip.sessions.set_planning("nowhere", "Never")


async def test_branches_of_branches_part_where_they_differ(trip: Store, clock: VirtualClock):
    for source, name, upto in (("s", "a", 2), ("s", "b", 0), ("a", "c", 2), ("b", "d", 0), ("a", "e", 4)):
        await clock.advance(1)
        await trip.sessions.fork(source, name, upto=upto, branch=True)
        await trip.sessions.append(name, [said(name, run_id=f"{name}1"), said(name, "assistant", f"{name}1")])
    # At 1: those that begin with "one" (the newest is e), b, d. At 3: s, a with e, c. At 5 e goes on as a does not yet.
    assert await points(trip, "s") == [BranchPoint(1, ("s", "b", "d"), 0), BranchPoint(3, ("s", "e", "c"), 0)]
    assert await points(trip, "c") == [BranchPoint(1, ("c", "b", "d"), 0), BranchPoint(3, ("s", "e", "c"), 2)]
    assert await points(trip, "d") == [BranchPoint(1, ("e", "b", "d"), 2)]
    assert (await points(trip, "e"))[-1] == BranchPoint(5, ("a", "e"), 1)


async def test_a_family_can_be_stored_again(store: Store):
    for name in ("s", "b"):
        await store.sessions.append(name, [said("x")], owner="ada")
    await store.sessions.join_family("s", "s", None, None)
    await store.sessions.join_family("b", "s", "s", 0)
    assert await points(store, "b") == [BranchPoint(1, ("s", "b"), 1)]
    with pytest.raises(NotFound):
        await store.sessions.join_family("nowhere", "s", None, None)
