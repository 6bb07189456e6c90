"""Checks of `sophon doctor` on what works by itself: agents, schedules and goals; one line each."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from sophon.composition.part_factories import list_skill_folders
from sophon.errors import StoreError
from sophon.services import Services
from sophon.settings import Settings
from sophon_hosting.features.goals.stored_goals import stored_goals
from sophon_hosting.features.schedules.schedule import Schedule
from sophon_hosting.features.schedules.stored_schedules import stored_schedules
from sophon_hosting.programs.doctor.findings import DoctorFinding, failed, ok, warning
from sophon_hosting.rendering.value_formatting import format_count
from sophon_hosting.store.contract import host_store


def check_folders(settings: Settings, folder: Path) -> Iterator[DoctorFinding]:
    """Name each folder of `Agents.Directory` and `Skills.Directories` that is set and missing."""
    agents = settings.agents.directory
    if agents is not None and not (folder / agents.expanduser()).is_dir():
        yield warning("agents", f"Agents.Directory: there is no folder {agents}", _CREATE)
    if settings.skills.enabled and "directories" in settings.skills.model_fields_set:
        for path, name in zip(list_skill_folders(settings, folder), settings.skills.directories, strict=True):
            if not path.is_dir():
                yield warning("skills", f"Skills.Directories: there is no folder {name}", _CREATE)


_CREATE = "create it, or correct the setting"


def check_agents(services: Services) -> DoctorFinding | None:
    """Count the definitions of agents and those with problems; None where there are no agents. Blocks."""
    if services.assistant.agents is None:
        return None
    from sophon_hosting.features.agents.known_names import find_name_problems  # lazy: most hosts have no agents

    found = services.assistant.agents.catalog.read()
    broken = {each.path for each in (*found.problems, *find_name_problems(services, found))}
    count = format_count(len({*broken, *(each.path for each in found.agents.values())}), "definition")
    if broken:
        text = f"{len(broken)} of {count} of agents cannot be used as written"
        return warning("agents", text, "`sophon agents check` names each problem with its line")
    return ok("agents", f"{count} of agents")


async def check_automation(services: Services) -> Sequence[DoctorFinding]:
    """Count schedules and goals that the host has paused; those that a person has paused are in order. The store must
    be open.
    """
    store = host_store(services)
    try:
        schedules, goals = await stored_schedules(store).list(), await stored_goals(store).list_live()
    except StoreError as error:
        return [failed("schedules", str(error), "repair the store")]
    refused = sum(map(is_paused_by_host, schedules))
    paused = sum(goal.state == "paused" and goal.pause_kind not in ("person", "back_off") for goal in goals)
    return [
        *_count("schedules", "schedule", refused, len(schedules), "`sophon schedules list` shows why"),
        *_count("goals", "goal", paused, len(goals), "`sophon goals list` shows why"),
    ]


def is_paused_by_host(schedule: Schedule) -> bool:
    """Return whether the host has paused a schedule because a firing was refused. Pure."""
    refused = schedule.last_outcome == "refused" and schedule.reason == schedule.last_reason
    return schedule.state == "paused" and refused


def _count(name: str, what: str, paused: int, total: int, fix: str) -> list[DoctorFinding]:
    if paused:
        return [warning(name, f"{paused} of {format_count(total, what)} paused by the host", fix)]
    return [ok(name, f"{format_count(total, what)}, none paused by the host")] if total else []
