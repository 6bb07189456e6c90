"""What doctor says about agents, skills, schedules and goals: missing folders, and what the host has paused."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from sophon import Services
from sophon.testing import VirtualClock
from sophon_hosting.events.store_only_committer import StoredEvents
from sophon_hosting.features.goals.person_actions import GoalCommands
from sophon_hosting.features.goals.settings import GoalsSettings
from sophon_hosting.features.goals.stored_goals import stored_goals
from sophon_hosting.features.schedules.firing import note_outcome
from sophon_hosting.features.schedules.requests import ScheduleRequest
from sophon_hosting.features.schedules.schedule_service import Destination, ScheduleService, pause_schedule
from sophon_hosting.features.schedules.settings import SchedulesSettings
from sophon_hosting.features.schedules.stored_schedules import stored_schedules
from sophon_hosting.programs.doctor.automation_checks import check_automation, check_folders
from sophon_hosting.store.sql_host_store import SqlHostStore

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def build_services(settings: Mapping[str, Any] | None = None) -> Services:
    clock = VirtualClock(start=NOW)
    return Services(clock=clock, store=SqlHostStore("memory://", clock=clock), settings=settings)


async def check(services: Services) -> dict[str, tuple[str, str]]:
    return {each.id: (each.grade, each.text) for each in await check_automation(services)}


async def test_nothing_is_said_where_there_is_nothing() -> None:
    assert await check(build_services()) == {}


async def test_schedules_that_the_host_paused_are_counted() -> None:
    services = build_services()
    service = ScheduleService(services.store, services.clock, services.settings.section(SchedulesSettings))
    await services.store.sessions.get_or_create("s", "ada")
    wanted = ScheduleRequest("x", every="1 hour")
    made = [await service.add(wanted, owner="ada", destination=Destination("s", "hub", {})) for _ in range(3)]
    await service.pause(made[0].id, "by ada")
    assert await check(services) == {"schedules": ("ok", "3 schedules, none paused by the host")}
    refused = note_outcome(pause_schedule(made[1], "no rights"), NOW, "refused", "no rights")
    assert await stored_schedules(services.store).update(refused)
    assert await check(services) == {"schedules": ("warning", "1 of 3 schedules paused by the host")}


async def test_goals_that_the_host_paused_are_counted() -> None:
    services = build_services({"Goals": {"Enabled": True}})
    commands = GoalCommands(services.store, services.clock, services.settings.section(GoalsSettings), StoredEvents())
    where = {"session_id": "s", "channel": "hub"}
    goals = [await commands.create(owner="ada", title=f"t{n}", goal_id=f"g{n}", **where) for n in range(2)]
    await commands.pause(goals[0].id, "ada", by="ada")
    assert await check(services) == {"goals": ("ok", "2 goals, none paused by the host")}
    spent = goals[1].pause("budget", "budget: cost", NOW, limit=timedelta(days=1))
    assert await stored_goals(services.store).change(spent) is not None
    assert await check(services) == {"goals": ("warning", "1 of 2 goals paused by the host")}


def test_a_folder_that_is_set_and_missing_is_named(tmp_path: Path) -> None:
    (tmp_path / "skills").mkdir()
    wanted = {"Agents": {"Directory": "nope"}, "Skills": {"Directories": ["skills", "none"]}}
    found = check_folders(Services(settings=wanted).settings, tmp_path)
    assert [(each.grade, each.text) for each in found] == [
        ("warning", "Agents.Directory: there is no folder nope"),
        ("warning", "Skills.Directories: there is no folder none"),
    ]
    assert list(check_folders(Services().settings, tmp_path)) == []
