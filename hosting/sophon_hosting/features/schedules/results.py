"""Results of schedules: when they run, what became of the last run, and the runs themselves."""

from typing import Final

from sophon._python.lazy_typed_dict import TypedDict
from sophon.scheduled_turns import SCHEDULE_KEYS
from sophon_hosting.features.iso_time import to_iso
from sophon_hosting.features.schedules.occurrences import Recurrence
from sophon_hosting.features.schedules.schedule import (
    FiringOutcome,
    Misfire,
    QuietAction,
    Schedule,
    ScheduleKind,
    ScheduleState,
)
from sophon_hosting.features.schedules.schedule_service import ScheduleService
from sophon_hosting.features.schedules.schedule_text import describe_recurrence
from sophon_hosting.store.contract import HostStore
from sophon_hosting.store.runs.contract import RunStatus

MAX_FIRINGS: Final = 10
"""Runs of a schedule that are listed."""


class LastFiring(TypedDict):
    """What became of the last due time of a schedule."""

    due_at: str
    outcome: FiringOutcome
    reason: str | None
    task_id: str | None


class ScheduleView(TypedDict):
    """A schedule with its next times; `runs` says in words when it runs."""

    schedule_id: str
    user: str
    session_id: str
    channel: str
    title: str
    text: str
    kind: ScheduleKind
    expression: str
    time_zone: str
    runs: str
    misfire: Misfire
    quiet_hours: str | None
    quiet_action: QuietAction
    state: ScheduleState
    reason: str | None
    next: list[str]
    last: LastFiring | None
    created_at: str
    created_by: str


class Firing(TypedDict):
    """A run that a schedule has started; `outcome` is the status of its task."""

    due_at: str
    task_id: str
    outcome: RunStatus
    started_at: str | None
    finished_at: str | None
    error: str | None


class ScheduleDetails(ScheduleView):
    """A schedule with its last runs, the newest first."""

    firings: list[Firing]


class ScheduleList(TypedDict):
    """Schedules, oldest first."""

    items: list[ScheduleView]


def schedule_to_json(schedule: Schedule, service: ScheduleService, session_id: str | None = None) -> ScheduleView:
    """Return a schedule as JSON, with its next times; `session_id` is the id by which the client knows the session."""
    times = service.list_next(schedule)
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


async def list_firings(store: HostStore, schedule: Schedule) -> list[Firing]:
    """Return the last runs of a schedule as JSON, the newest first; times that became no run have none."""
    found = await store.runs.list_by_account(SCHEDULE_KEYS, schedule.id, MAX_FIRINGS)
    return [
        {
            "due_at": key.external_id,
            "task_id": run.id,
            "outcome": run.status,
            "started_at": to_iso(run.started_at),
            "finished_at": to_iso(run.finished_at),
            "error": run.error.message if run.error else None,
        }
        for key, run in found
        if run.owner == schedule.owner
    ]


def _last_to_json(schedule: Schedule) -> LastFiring | None:
    if schedule.last_outcome is None or schedule.last_due_at is None:
        return None
    return {
        "due_at": schedule.last_due_at.isoformat(),
        "outcome": schedule.last_outcome,
        "reason": schedule.last_reason or None,
        "task_id": schedule.last_task_id or None,
    }
