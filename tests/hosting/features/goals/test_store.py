"""What every store promises about goals."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from sophon.errors import NotFound, StoreError
from sophon.risk import Risk
from sophon.stores.contract import Store
from sophon.stores.usage.contract import Period
from sophon_hosting.features.goals.rules.budget import GoalBudget
from sophon_hosting.features.goals.rules.goal import Goal
from sophon_hosting.features.goals.rules.stability import Stability
from sophon_hosting.features.goals.rules.task_node import TaskNode
from sophon_hosting.features.goals.store import GoalWrite
from sophon_hosting.features.goals.stored_goals import stored_goals
from sophon_hosting.store.events.logged_event import LoggedEvent
from tests.host_stores import clock as clock
from tests.host_stores import store as store
from tests.host_stores import store_url as store_url

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
MONTH = Period("2026-01-01", "2026-01")
NODE = TaskNode("a", "Read \0 it\ud800", "files.read", {"path": "a", "more": [1, None]}, (), Risk.HIGH).start(NOON)


def make(goal_id: str = "g1", owner: str = "ada", **more: object) -> Goal:
    return replace(Goal(goal_id, owner, "Title", "Words", session_id="s", created_at=NOON), **more)  # type: ignore[arg-type]


async def ids(store: Store, **query: object) -> list[str]:
    return [each.id for each in await stored_goals(store).list(**query)]  # type: ignore[arg-type]


async def test_a_goal_is_kept_as_it_is(store: Store):
    record = Stability().note_failure("e").note_replan(NOON).note_block("http.send")
    goal = make(nodes=(NODE,), origin={"chat": "5"}, stability=record, next_at=NOON, autonomy="Full")
    assert await stored_goals(store).add(goal) == goal
    found = await stored_goals(store).find("g1")
    assert found is not None
    assert replace(found, nodes=()) == replace(goal, nodes=())
    assert found.nodes[0].arguments == NODE.arguments
    assert await stored_goals(store).find("g2") is None


async def test_a_goal_of_a_known_id_is_the_one_that_is_stored(store: Store):
    await stored_goals(store).add(make())
    assert await stored_goals(store).add(make(title="Other"), most_live=0) == make()
    assert await ids(store) == ["g1"]


async def test_of_two_changes_of_the_same_version_one_is_stored(store: Store):
    goal = await stored_goals(store).add(make())
    assert goal is not None
    first = await stored_goals(store).change(replace(goal, reason="first"))
    assert await stored_goals(store).change(replace(goal, reason="second")) is None
    assert first is not None
    assert (first.version, await stored_goals(store).find("g1")) == (2, first)
    assert (await stored_goals(store).change(replace(first, reason="third"))).version == 3  # type: ignore[union-attr]


async def test_a_goal_that_was_deleted_cannot_be_changed(store: Store):
    assert await stored_goals(store).change(make()) is None
    assert await stored_goals(store).find("g1") is None


async def test_goals_are_listed_by_owner_chat_and_state_newest_first(store: Store):
    await stored_goals(store).add(make("g1"))
    await stored_goals(store).add(make("g2", "bob"))
    await stored_goals(store).add(make("g3", session_id="t", state="completed"))
    assert await ids(store) == ["g3", "g2", "g1"]
    assert await ids(store, owner="ada") == ["g3", "g1"]
    assert await ids(store, session_id="t") == ["g3"]
    assert await ids(store, states=["planning"], limit=1) == ["g2"]
    assert await ids(store, limit=0) == []


async def test_live_goals_come_by_priority_then_by_age(store: Store):
    for name, priority, state in (("a", 3, "active"), ("b", 8, "paused"), ("c", 8, "planning"), ("d", 9, "failed")):
        await stored_goals(store).add(make(name, priority=priority, state=state))
    assert [each.id for each in await stored_goals(store).list_live()] == ["b", "c", "a"]
    assert [goal.owner for goal in await stored_goals(store).list_live()] == ["ada"] * 3


async def test_a_person_has_no_more_live_goals_than_allowed(store: Store):
    for name in ("g1", "g2"):
        assert await stored_goals(store).add(make(name), most_live=2) is not None
    assert await stored_goals(store).add(make("g3"), most_live=2) is None
    assert await stored_goals(store).add(make("g3", "bob"), most_live=2) is not None
    ended = replace(make("g1"), state="completed", finished_at=NOON)
    assert await stored_goals(store).change(ended) is not None
    assert await stored_goals(store).add(make("g4"), most_live=2) is not None


async def test_old_goals_expire_and_live_ones_never(store: Store):
    await stored_goals(store).add(make("old", state="failed", finished_at=NOON))
    await stored_goals(store).add(make("new", state="failed", finished_at=NOON + timedelta(days=2)))
    await stored_goals(store).add(make("live"))
    expired = await stored_goals(store).list_expired(NOON + timedelta(days=1))
    assert [await stored_goals(store).remove(each.id) for each in expired] == [True]
    assert await ids(store) == ["live", "new"]


@pytest.mark.parametrize("session_id", ["s", "goal-g1"])
async def test_a_goal_goes_with_its_chat_and_with_its_session_of_work(store: Store, session_id: str):
    await store.sessions.get_or_create(session_id, "ada")
    await stored_goals(store).add(make("g1"))
    await stored_goals(store).add(make("g2", session_id="other"))
    await store.sessions.delete(session_id)
    assert await ids(store) == ["g2"]
    with pytest.raises(NotFound):
        await store.sessions.get(session_id)


async def test_goals_are_forgotten_with_their_person(store: Store):
    await stored_goals(store).add(make("g1"))
    await stored_goals(store).add(make("g2", "bob"))
    assert (await store.persons.forget("ada", MONTH))["goals"] == 1
    assert await ids(store) == ["g2"]


def event_of(goal: Goal) -> list[LoggedEvent]:
    return [LoggedEvent("goal_changed", {"state": goal.state, "version": goal.version})]


async def versions(store: Store, session_id: str = "s") -> list[int]:
    return [each.data["version"] for each in await store.events.list_after(session_id, 0)]


async def test_a_goal_is_stored_with_its_events_in_the_log_of_its_chat(store: Store):
    await store.sessions.get_or_create("s", "ada")
    assert await stored_goals(store).add_with_events(make(), event_of) == GoalWrite(make(), 1)
    changed = await stored_goals(store).change_with_events(replace(make(), reason="new"), event_of)
    assert (changed.goal, changed.seq) == (await stored_goals(store).find("g1"), 2)
    assert await versions(store) == [1, 2]


async def test_what_is_not_stored_has_no_event(store: Store):
    await store.sessions.get_or_create("s", "ada")
    await stored_goals(store).add_with_events(make(), event_of)
    assert await stored_goals(store).add_with_events(make(title="Other"), event_of) == GoalWrite(make())
    assert (await stored_goals(store).add_with_events(make("g2"), event_of, most_live=1)).goal is None
    assert (await stored_goals(store).change_with_events(make(version=7), event_of)).goal is None
    assert await versions(store) == [1]


async def test_a_goal_whose_chat_does_not_exist_is_stored_without_events(store: Store):
    assert await stored_goals(store).add_with_events(make(), event_of) == GoalWrite(make(), None)
    changed = await stored_goals(store).change_with_events(replace(make(), reason="new"), event_of)
    assert (changed.goal, changed.seq) == (await stored_goals(store).find("g1"), None)


async def test_a_change_whose_events_cannot_be_stored_is_not_stored(store: Store):
    def fail(goal: Goal) -> list[LoggedEvent]:
        raise StoreError("events", "full")

    await store.sessions.get_or_create("s", "ada")
    await stored_goals(store).add(make())
    with pytest.raises(StoreError):
        await stored_goals(store).change_with_events(replace(make(), state="cancelled"), fail)
    with pytest.raises(StoreError):
        await stored_goals(store).add_with_events(make("g2"), fail)
    assert [each.state for each in await stored_goals(store).list()] == ["planning"]


@pytest.mark.parametrize("session_id", ["s", "goal-g1"])
async def test_with_a_goal_all_sessions_go_in_which_it_works(store: Store, session_id: str):
    for each in ("s", "goal-g1", "goal-g1-2", "goal-g2"):
        await store.sessions.get_or_create(each, "ada")
    await stored_goals(store).add(make(limits=GoalBudget(parallel=3)))
    await stored_goals(store).add(make("g2", session_id="other"))
    await store.sessions.delete(session_id)
    assert await ids(store) == ["g2"]
    left = {each.id for each in await store.sessions.list()}
    assert left == ({"goal-g2"} if session_id == "s" else {"s", "goal-g2"})
