"""Schedules of an export: they come back paused, and their answers go to the session alone."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, Final, get_args

from sophon.schedules.occurrences import Recurrence
from sophon.schedules.quiet_hours import check_quiet_hours
from sophon.stores.contract import Store
from sophon.stores.schedules.contract import Misfire, QuietAction, Schedule, ScheduleKind

CLIENTS: Final = "hub"
"""Channel of imported schedules: a chat that an export names may be another person's by now."""

IMPORTED: Final = "imported; resume it if it is still wanted"


def parse_schedule(item: Mapping[str, Any]) -> Schedule:
    """Return the schedule of an export, paused. Raises KeyError, TypeError, ValueError, InputError."""
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
        owner="",
        channel=CLIENTS,
        created_at=created_at,
        created_by="",
        state="paused",
        reason=IMPORTED,
    )


async def import_schedule(store: Store, person: str, schedule: Schedule) -> None:
    """Store a schedule as the person's, if its session is theirs; one that exists stays as it is."""
    session = await store.sessions.find(schedule.session_id)
    if session is not None and session.owner == person:
        await store.schedules.add(replace(schedule, owner=person, created_by=person))
