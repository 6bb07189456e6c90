"""Schedules in the export of a person. An imported one is paused, and no longer that of a chat."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final, get_args

from sophon_hosting.features.person_export_items import PersonData, to_json
from sophon_hosting.features.schedules.occurrences import Recurrence
from sophon_hosting.features.schedules.quiet_hours import check_quiet_hours
from sophon_hosting.features.schedules.schedule import Misfire, QuietAction, Schedule, ScheduleKind
from sophon_hosting.features.schedules.stored_schedules import stored_schedules
from sophon_hosting.store.contract import HostStore

CLIENTS: Final = "hub"
"""Channel of imported schedules: a chat that an export names may be another person's by now."""

IMPORTED: Final = "imported; resume it if it is still wanted"


async def _read(store: HostStore, person: str) -> Sequence[Mapping[str, Any]]:
    return [to_json(schedule) for schedule in await stored_schedules(store).list(owner=person)]


def _parse(item: Mapping[str, Any], person: str) -> Schedule:
    kind, misfire, action = item["kind"], item["misfire"], item["quiet_action"]
    if kind not in get_args(ScheduleKind) or misfire not in get_args(Misfire) or action not in get_args(QuietAction):
        raise ValueError(f"a schedule of kind {kind!r}, {misfire!r}, {action!r} is not known")
    created_at = datetime.fromisoformat(item["created_at"])
    texts = {name: item[name] for name in ("id", "session_id", "text", "expression", "time_zone", "title")}
    if created_at.tzinfo is None or not all(isinstance(each, str) for each in texts.values()):
        raise ValueError("a schedule needs texts and a time with a zone")
    Recurrence(kind, texts["expression"], texts["time_zone"], created_at).find_next(created_at)
    return Schedule(
        **texts,
        kind=kind,
        misfire=misfire,
        quiet_hours=check_quiet_hours(str(item["quiet_hours"])),
        quiet_action=action,
        owner=person,
        channel=CLIENTS,
        created_at=created_at,
        created_by=person,
        state="paused",
        reason=IMPORTED,
    )


async def _add(store: HostStore, schedule: Schedule, person: str) -> bool:
    """Store a schedule, if its session is the person's."""
    session = await store.sessions.find(schedule.session_id)
    if session is None or session.owner != person:
        return False
    return await stored_schedules(store).add(schedule)


SCHEDULES: Final = PersonData("schedule", _read, _parse, _add)
