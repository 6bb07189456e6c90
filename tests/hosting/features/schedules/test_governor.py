"""The resource governor counts scheduled work: what is due waits while its owner has used up a limit."""

import asyncio
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from sophon import ModelRequest
from sophon.errors import StoreUnavailable
from sophon.principals import LOCAL_USER
from sophon_hosting.features.goals.engine import GoalEngine
from sophon_hosting.features.goals.governor import build_scope, count_running_agents
from sophon_hosting.features.goals.person_actions import GoalCommands
from sophon_hosting.features.goals.settings import GoalsSettings
from sophon_hosting.features.goals.stored_goals import stored_goals
from sophon_hosting.features.schedules.events import ScheduleFired
from sophon_hosting.features.schedules.heartbeat import Heartbeat
from sophon_hosting.features.schedules.scheduler import Scheduler
from tests.hosting.features.schedules.conftest import MINUTE, ScheduleWorld, allow


def limited(**limits: int) -> dict[str, Any]:
    return {"Goals": {"Enabled": True, "Limits": limits}, "Memory": {"Learn": False}}


async def last_reason(world: ScheduleWorld) -> str:
    return world.events.of(ScheduleFired)[-1].reason


async def test_a_schedule_waits_while_its_owner_has_used_up_a_limit_and_runs_then(world: ScheduleWorld) -> None:
    host = await world.started(limited(TasksPerHour=1))
    await world.add(host, in_minutes=1)
    await world.add(host, in_minutes=1, session_id="t")
    await world.add(host, in_minutes=1, session_id="u", owner="bob")
    world.pass_time(MINUTE)
    await world.fire(host)
    assert sorted(await world.outcomes(3)) == ["delayed", "fired", "fired"]
    assert "waits: 1/1 tasks per hour" in {event.reason for event in world.events.of(ScheduleFired)}
    world.pass_time(timedelta(hours=1, minutes=1))
    await world.fire(host)
    assert len(await world.runs()) == 3


async def test_model_calls_of_a_run_hold_back_the_next_within_the_minute(world: ScheduleWorld) -> None:
    host = await world.started(limited(LlmCallsPerMinute=1))
    await world.add(host, in_minutes=1)
    await world.add(host, in_minutes=1.5, session_id="t")
    world.pass_time(MINUTE)
    await world.fire(host)

    async def is_counted() -> bool:  # a moment after the outcome
        since = world.clock.now() - MINUTE
        return bool(await world.store.rate_windows.load(build_scope("ada", "llm_calls"), since, 10))

    await world.until(is_counted)
    world.pass_time(timedelta(seconds=30))
    await world.fire(host)
    assert await world.outcomes(2) == ["fired", "delayed"]
    assert await last_reason(world) == "waits: 1/1 llm calls per minute"
    world.pass_time(MINUTE)
    await world.fire(host)
    assert len(await world.runs()) == 2


async def test_a_scheduled_run_counts_as_a_running_agent(world: ScheduleWorld) -> None:
    release = asyncio.Event()

    async def wait(request: ModelRequest) -> str:
        await release.wait()
        return "done"

    world.answer = wait  # type: ignore[method-assign]
    host = await world.started(limited(RunningAgents=1))
    await world.add(host, in_minutes=1)
    await world.add(host, in_minutes=2, session_id="t")
    world.pass_time(MINUTE)
    scheduler = Scheduler(host, allow)
    await scheduler.fire_due()

    async def runs() -> bool:
        return await count_running_agents(host.services, "ada") == 1

    await world.until(runs)
    world.pass_time(MINUTE)
    await scheduler.fire_due()
    assert (await world.outcomes(2))[-1] == "delayed"
    assert await last_reason(world) == "waits: 1/1 running agents"
    release.set()
    await world.until(world.is_done)
    assert await count_running_agents(host.services, "ada") == 0


async def test_of_two_schedules_of_one_moment_only_as_many_start_as_there_may_be_agents(world: ScheduleWorld) -> None:
    release = asyncio.Event()

    async def wait(request: ModelRequest) -> str:
        await release.wait()
        return "done"

    world.answer = wait  # type: ignore[method-assign]
    host = await world.started(limited(RunningAgents=1))
    await world.add(host, in_minutes=1)
    await world.add(host, in_minutes=1, session_id="t")
    world.pass_time(MINUTE)
    await Scheduler(host, allow).fire_due()
    assert sorted(await world.outcomes(2)) == ["delayed", "fired"]
    assert "waits: 1/1 running agents" in {event.reason for event in world.events.of(ScheduleFired)}
    release.set()
    await world.until(world.is_done)


@pytest.mark.parametrize("limit", ["TasksPerHour", "RunningAgents"])
async def test_a_schedule_a_heartbeat_and_a_goal_of_one_moment_do_not_pass_one_limit(
    world: ScheduleWorld, limit: str, tmp_path: Path
) -> None:
    """Each asks what is left and is accepted a moment later; between the two, another one must not be counted."""
    release = asyncio.Event()

    async def wait(request: ModelRequest) -> str:
        if request.purpose == "plan":
            return '{"goal": "g", "steps": [{"id": "a", "description": "Look around", "depends_on": []}]}'
        await release.wait()
        return "done"

    world.answer = wait  # type: ignore[method-assign]
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "HEARTBEAT.md").write_text("* * * * * Look at the inbox\n")
    goals = {"Enabled": True, "Review": False, "Limits": {limit: 1, "LlmCallsPerMinute": 1000}}
    settings = {"Goals": goals, "Memory": {"Learn": False, "Directory": str(tmp_path / "memory")}}
    host = await world.started({**settings, "Schedules": {"Heartbeat": {"Enabled": True}}})
    engine = GoalEngine(host)
    await world.add(host, in_minutes=1, owner=LOCAL_USER)
    settings = host.services.settings.section(GoalsSettings)
    commands = GoalCommands(world.store, world.clock, settings, host.event_bus)
    goal = await commands.create(owner=LOCAL_USER, title="Look")

    async def is_planned() -> bool:
        found = await stored_goals(world.store).find(goal.id)
        return found is not None and found.state == "active"

    await engine.look()
    await world.until(is_planned)
    world.pass_time(MINUTE)
    await asyncio.gather(Scheduler(host, allow).fire_due(), Heartbeat(host).fire(), engine.look())
    assert len(await world.runs()) == 1
    release.set()
    await world.until(world.is_done)
    await engine.stop()


async def test_a_store_that_cannot_count_starts_nothing(world: ScheduleWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    host = await world.started(limited())
    await world.add(host, in_minutes=1)
    world.pass_time(MINUTE)

    async def fail(*_: object) -> list[object]:
        raise StoreUnavailable("store", "disk", "gone")

    with monkeypatch.context() as broken:
        broken.setattr(world.store.rate_windows, "load", fail)
        with pytest.raises(StoreUnavailable):
            await Scheduler(host, allow).fire_due()
    assert await world.runs() == []
    await world.fire(host)
    assert len(await world.runs()) == 1


async def test_without_goals_schedules_have_their_own_limits_only(world: ScheduleWorld) -> None:
    host = await world.started({"Goals": {"Limits": {"TasksPerHour": 1}}})
    for number in range(3):
        await world.add(host, in_minutes=1, session_id=f"s{number}")
    world.pass_time(MINUTE)
    await world.fire(host)
    assert await world.outcomes(3) == ["fired"] * 3
