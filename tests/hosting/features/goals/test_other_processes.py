"""Other processes over the same store: what they change is noticed, and of two hosts one advances a goal."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from sophon.errors import ChangedMeanwhile
from sophon_hosting.events.store_only_committer import StoredEvents
from sophon_hosting.features.goals.engine import GoalWork
from sophon_hosting.features.goals.person_actions import GoalCommands
from sophon_hosting.features.goals.planner.planning import GoalPlanner
from sophon_hosting.features.goals.rules.goal import Goal
from sophon_hosting.features.goals.settings import GoalsSettings
from sophon_hosting.features.goals.store import GoalEvents, GoalWrite
from sophon_hosting.features.goals.stored_goals import stored_goals
from tests.hosting.features.goals.conftest import World, plan, step


def from_outside(world: World) -> GoalCommands:
    """Return the commands of a process without the host's API, as `sophon goals` on the store."""
    return GoalCommands(world.store, world.clock, world.host.services.settings.section(GoalsSettings), StoredEvents())


async def test_a_goal_that_another_process_makes_is_taken_up_at_the_next_tick(world: World):
    world.plans = [plan(step("a", "note", text="one"))]
    _, engine = await world.start()
    await world.clock.advance(60)
    async with asyncio.timeout(20):
        while not engine.statistics().looks:
            await asyncio.sleep(0.001)
    await world.store.sessions.get_or_create("chat", "ada")
    begin = world.clock.now()
    goal = await from_outside(world).create(owner="ada", title="Errand", session_id="chat")
    await world.until(goal, lambda found: found.state != "planning")
    assert world.clock.now() - begin <= timedelta(seconds=16)


@pytest.mark.parametrize("change", ["pause", "cancel"])
async def test_a_step_is_stopped_at_the_next_tick_when_another_process_stops_its_goal(world: World, change: str):
    world.plans = [plan(step("a", "note", text="one"))]
    world.held = asyncio.Event()
    await world.start()
    goal = await world.create()
    await world.until(goal, lambda found: bool(world.kept) and bool(found.nodes[0].run_id))
    begin = world.clock.now()
    await getattr(from_outside(world), change)(goal.id, "ada", by="ada")
    stopped = await world.until(goal, lambda found: found.nodes[0].status == "pending")
    assert world.clock.now() - begin <= timedelta(seconds=16)
    assert (await world.store.runs.get(stopped.nodes[0].run_id)).status == "cancelled"


async def advance_by_two_hosts(world: World) -> tuple[Goal, Sequence[Goal | BaseException]]:
    """Let two hosts advance the same version of a goal; return it, and what each has got."""
    world.plans = [plan(step("a", "note", text="one"))]
    works: list[GoalWork] = []
    for _ in range(2):
        host, engine = await world.start()
        await engine.stop()
        works.append(GoalWork(host, GoalPlanner(host.services, review=False), lambda: None))
    goal = await world.create()
    await works[0].advance(goal, may_start=True)
    planned = await world.until(goal, lambda found: found.state == "active")
    both: list[Awaitable[Goal]] = [work.advance(planned, may_start=True) for work in works]
    return await world.get(goal), await asyncio.gather(*both, return_exceptions=True)


async def test_of_two_hosts_over_one_store_exactly_one_advances_a_goal(world: World):
    goal, results = await advance_by_two_hosts(world)
    assert sum(isinstance(each, Goal) for each in results) == 1
    assert sum(isinstance(each, ChangedMeanwhile) for each in results) == 1
    assert (await world.get(goal)).spent.steps == 1


async def test_without_the_check_of_the_version_both_hosts_would_advance_it(
    world: World, monkeypatch: pytest.MonkeyPatch
):
    goals = stored_goals(world.store)
    checked, checked_with_events = goals.change, goals.change_with_events

    def unchecked(change: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        async def overwrite(goal: Goal, *events: GoalEvents) -> Goal | GoalWrite | None:
            while True:
                stored = await goals.find(goal.id)
                assert stored is not None
                result = await change(replace(goal, version=stored.version), *events)
                if (result.goal if isinstance(result, GoalWrite) else result) is not None:
                    return result

        return overwrite

    monkeypatch.setattr(goals, "change", unchecked(checked))
    monkeypatch.setattr(goals, "change_with_events", unchecked(checked_with_events))
    accept = world.store.runs.accept
    monkeypatch.setattr(world.store.runs, "accept", lambda *run, **more: accept(*run, **{**more, "precondition": None}))
    _, results = await advance_by_two_hosts(world)
    assert [isinstance(each, Goal) for each in results] == [True, True]
