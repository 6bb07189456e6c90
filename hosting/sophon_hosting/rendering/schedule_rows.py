"""Schedules as JSON rows, for clients and the command line."""

from typing import Any, Final

from sophon.schedules.library import ScheduleLibrary
from sophon.schedules.occurrences import Recurrence
from sophon.schedules.turn_mark import SCHEDULE_KEYS
from sophon.schedules.wording import describe_recurrence
from sophon.stores.contract import Store
from sophon.stores.schedules.contract import Schedule

MAX_FIRINGS: Final = 10
"""Runs of a schedule that are listed."""


def schedule_to_json(schedule: Schedule, library: ScheduleLibrary, session_id: str | None = None) -> dict[str, Any]:
    """Return a schedule as JSON, with its next times; `session_id` is the id by which the client knows the session."""
    times = library.list_next(schedule)
    return {
        "schedule_id": schedule.id,
        "user": schedule.owner,
        "session_id": schedule.session_id if session_id is None else session_id,
        "channel": schedule.channel,
        "title": schedule.title,
        "text": schedule.text,
        "kind": schedule.kind,
        "expression": schedule.expression,
        "time_zone": schedule.time_zone,
        "runs": describe_recurrence(Recurrence.of(schedule)),
        "misfire": schedule.misfire,
        "quiet_hours": schedule.quiet_hours or None,
        "quiet_action": schedule.quiet_action,
        "state": schedule.state,
        "reason": schedule.reason or None,
        "next": [each.isoformat() for each in times],
        "last": _last_to_json(schedule),
        "created_at": schedule.created_at.isoformat(),
        "created_by": schedule.created_by,
    }


async def list_firings(store: Store, schedule: Schedule) -> list[dict[str, Any]]:
    """Return the last runs of a schedule as JSON, the newest first; times that became no run have none."""
    found = await store.runs.list_by_account(SCHEDULE_KEYS, schedule.id, MAX_FIRINGS)
    return [
        {
            "due_at": key.external_id,
            "task_id": run.id,
            "outcome": run.status,
            "started_at": run.started_at.isoformat() if run.started_at else None,
            "finished_at": run.finished_at.isoformat() if run.finished_at else None,
            "error": run.error.message if run.error else None,
        }
        for key, run in found
        if run.owner == schedule.owner
    ]


def _last_to_json(schedule: Schedule) -> dict[str, Any] | None:
    if schedule.last_outcome is None or schedule.last_due_at is None:
        return None
    return {
        "due_at": schedule.last_due_at.isoformat(),
        "outcome": schedule.last_outcome,
        "reason": schedule.last_reason or None,
        "task_id": schedule.last_task_id or None,
    }
