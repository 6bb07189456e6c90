"""Which sessions are idle, so that retention deletes them, on every store."""

from datetime import datetime

import pytest

from sophon.messages import Message
from sophon.stores.contract import Store
from sophon.stores.sessions.contract import SessionRecord
from sophon.testing import VirtualClock
from sophon_hosting.features.goals.rules.goal import Goal
from sophon_hosting.features.goals.stored_goals import stored_goals
from sophon_hosting.features.schedules.schedule import Schedule
from sophon_hosting.features.schedules.stored_schedules import stored_schedules
from sophon_hosting.store.runs.contract import Run, RunOutcome

DAY_SECONDS = 86_400


async def add_session(store: Store, session_id: str) -> None:
    await store.sessions.append(session_id, [SessionRecord("message", "r", Message("user", "hello"))], owner="ada")


def schedule(session_id: str, now: datetime, state: str) -> Schedule:
    return Schedule(
        f"of {session_id}",
        "ada",
        session_id,
        "hub",
        "news",
        "cron",
        "0 8 * * *",
        "UTC",
        now,
        "ada",
        state=state,  # type: ignore[arg-type]
    )


async def test_sessions_are_idle_after_their_last_message_the_oldest_first(store: Store, clock: VirtualClock) -> None:
    for name in ("first", "second", "third"):
        await add_session(store, name)
        await clock.advance(DAY_SECONDS)
    await add_session(store, "first")
    before = clock.now()
    assert list(await store.sessions.list_idle(before)) == ["second", "third"]
    assert list(await store.sessions.list_idle(before, limit=1)) == ["second"]
    await clock.advance(1)
    assert list(await store.sessions.list_idle(clock.now())) == ["second", "third", "first"]


async def test_a_session_with_an_unfinished_run_is_not_idle(host_store: Store, clock: VirtualClock) -> None:
    await host_store.runs.accept(Run("r", "s", "ada"))
    await clock.advance(DAY_SECONDS)
    assert list(await host_store.sessions.list_idle(clock.now())) == []
    assert not await host_store.sessions.delete_idle("s", clock.now())
    await host_store.runs.finish("r", RunOutcome("completed", {"text": "done"}))
    await clock.advance(DAY_SECONDS)
    assert await host_store.sessions.delete_idle("s", clock.now())
    assert await host_store.sessions.find("s") is None
    assert await host_store.runs.find("r") is None


@pytest.mark.parametrize(("state", "idle"), [("active", []), ("paused", []), ("finished", ["s"])])
async def test_a_session_with_a_schedule_that_goes_on_is_not_idle(
    host_store: Store, clock: VirtualClock, state: str, idle: list[str]
) -> None:
    await add_session(host_store, "s")
    await stored_schedules(host_store).add(schedule("s", clock.now(), state))
    await clock.advance(DAY_SECONDS)
    assert list(await host_store.sessions.list_idle(clock.now())) == idle


async def test_the_chat_of_a_live_goal_and_the_sessions_that_a_goal_works_in_are_not_idle(
    host_store: Store, clock: VirtualClock
) -> None:
    goal = Goal("g1", "ada", "Errand", "", session_id="chat", created_at=clock.now())
    for name in ("chat", *goal.list_work_sessions(), "goal-g10", "goal-"):
        await add_session(host_store, name)
    await stored_goals(host_store).add(goal)
    await clock.advance(DAY_SECONDS)
    assert list(await host_store.sessions.list_idle(clock.now())) == ["goal-g10", "goal-"]
    ended = await stored_goals(host_store).change(goal.move("cancel", "enough", clock.now()))
    assert ended is not None
    assert list(await host_store.sessions.list_idle(clock.now())) == ["chat", "goal-g10", "goal-"]
    assert await stored_goals(host_store).remove("g1")
    assert "goal-g1" in await host_store.sessions.list_idle(clock.now())


async def test_what_was_added_since_it_was_found_keeps_a_session(store: Store, clock: VirtualClock) -> None:
    await add_session(store, "s")
    await clock.advance(DAY_SECONDS)
    before = clock.now()
    assert list(await store.sessions.list_idle(before)) == ["s"]
    await add_session(store, "s")
    assert not await store.sessions.delete_idle("s", before)
    assert not await store.sessions.delete_idle("unknown", before)
    assert len((await store.sessions.load_history("s")).messages) == 2
