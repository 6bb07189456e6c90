"""Operations on schedules: list, make, show, change, pause, resume, remove. Users have their own, operators all."""

from typing import Annotated, Final, Literal

from sophon._python.value_rules import ValueRules
from sophon.errors import InputError
from sophon_hosting.client_api.caller import Caller
from sophon_hosting.client_api.off_the_record_errors import OffTheRecordLost, OtherMode
from sophon_hosting.client_api.rights import HUB_CHANNEL
from sophon_hosting.features.schedules.events import ScheduleChanged
from sophon_hosting.features.schedules.requests import MAX_TEXT_CHARACTERS, REQUEST_FIELDS, ScheduleRequest
from sophon_hosting.features.schedules.results import (
    ScheduleDetails,
    ScheduleList,
    ScheduleView,
    list_firings,
    schedule_to_json,
)
from sophon_hosting.features.schedules.schedule import Schedule
from sophon_hosting.features.schedules.schedule_service import Destination, ScheduleService
from sophon_hosting.features.schedules.settings import SchedulesSettings
from sophon_hosting.features.schedules.stored_schedules import stored_schedules
from sophon_hosting.operations.operation import Subject
from sophon_hosting.operations.request import Doc, Everything, Request
from sophon_hosting.operations.shared_results import Done
from sophon_hosting.operations.table import Table

table = Table("schedules")

Short = Annotated[str, ValueRules(min_length=1, max_length=200)]
Text = Annotated[str, ValueRules(min_length=1, max_length=MAX_TEXT_CHARACTERS)]

MAY_STOP_ONLY: Final = "an operator may pause and remove the schedules of others, and change nothing else of them"


SCHEDULE: Subject[Schedule] = Subject(
    "schedule",
    "schedule_id",
    lambda caller, row: stored_schedules(caller.store).find(row),
    lambda schedule: schedule.owner,
)


class ListSchedules(Request):
    """The schedules of the user, or of all users; `next` has the next times of each, `last` the last outcome."""

    everything: Everything = False


class ScheduleFields(Request):
    """When a schedule runs: one of `cron`, `every`, `at` (with `day`, or not), `in_minutes`; and how."""

    cron: Annotated[Short | None, Doc("Cron: minute hour day month weekday.")] = None
    every: Annotated[Short | None, Doc("As 15 minutes, 2 hours, daily.")] = None
    at: Annotated[Short | None, Doc("Once: 08:00, or 2026-12-24T18:00.")] = None
    day: Annotated[Short | None, Doc("With `at`: tomorrow, a weekday, a date.")] = None
    in_minutes: Annotated[float | None, Doc("Once, after so many minutes.")] = None
    time_zone: Annotated[Short | None, Doc("As Europe/Vienna; by default Schedules.TimeZone.")] = None
    title: Annotated[Short | None, Doc("A few words.")] = None
    misfire: Annotated[Short | None, Doc("After a stop: skip, once or all.")] = None
    quiet_hours: Annotated[
        Annotated[str, ValueRules(max_length=20)] | None, Doc("As 22:00-07:00: nothing runs then; or none.")
    ] = None
    quiet_action: Annotated[Short | None, Doc("In quiet hours: postpone or skip.")] = None


class NewSchedule(ScheduleFields):
    """A schedule: `text`, and exactly one time. The answers go to `session_id`, or to a session of their own."""

    text: Annotated[Text, Doc("The message that is sent to the agent each time.")]
    session_id: Annotated[str | None, Doc("Session for the answers; by default a new one.")] = None


class NamedSchedule(Request):
    """A schedule by its id."""

    schedule_id: str


class ScheduleChange(ScheduleFields):
    """Change of a schedule: what is given is changed; `state` pauses or resumes it."""

    schedule_id: str
    text: Text | None = None
    state: Literal["active", "paused"] | None = None


@table.operation("GET /api/schedules", needs="Read", as_tool=True)
async def list_schedules(caller: Caller, request: ListSchedules) -> ScheduleList:
    """List the schedules, oldest first, each with its next times and what became of the last one."""
    found = await stored_schedules(caller.store).list(owner=caller.owner_filter(request.everything))
    return {"items": [_show(caller, each) for each in found]}


@table.operation(
    "POST /api/schedules",
    needs="Chat",
    status=201,
    errors=(OtherMode, OffTheRecordLost),
    example={"text": "Summarize the news", "cron": "0 8 * * *"},
)
async def add_schedule(caller: Caller, request: NewSchedule) -> ScheduleView:
    """Make a schedule of the user."""
    if not caller.settings.section(SchedulesSettings).enabled:
        raise InputError("schedules are off here: Schedules.Enabled is false")
    wanted = ScheduleRequest.from_arguments({name: getattr(request, name) for name in REQUEST_FIELDS})
    service = _service(caller)
    service.preview(wanted)  # before a session is made for it
    owner, chat = await caller.find_author(request.session_id), None
    if request.session_id is not None and not caller.is_signed_in:
        chat = await service.find_destination(request.session_id)
        if chat is None:  # a typing error would make a session that nobody reads
            raise InputError(f"nobody has written in session {request.session_id!r}, so nobody owns a schedule there")
    session = await caller.open_own_session(request.session_id or caller.clock.new_id(), owner)
    made = await service.add(wanted, owner=owner, destination=chat or Destination(session.id, HUB_CHANNEL, {}))
    _announce(caller, made, "added")
    return _show(caller, made)


@table.operation("GET /api/schedules/{schedule_id}", needs="Read", on=SCHEDULE)
async def get_schedule(caller: Caller, request: NamedSchedule, schedule: Schedule) -> ScheduleDetails:
    """Return one schedule with its last ten runs as `firings`; `outcome` is the status of the task."""
    return {**_show(caller, schedule), "firings": await list_firings(caller.store, schedule)}


@table.operation("PATCH /api/schedules/{schedule_id}", needs="Chat", on=SCHEDULE)
async def change_schedule(caller: Caller, request: ScheduleChange, schedule: Schedule) -> ScheduleView:
    """Change, pause or resume a schedule; of those of others an operator may only pause and remove."""
    service, user = _service(caller), caller.user.id
    changes = {name: value for name in REQUEST_FIELDS if (value := getattr(request, name)) is not None}
    if caller.is_signed_in and schedule.owner != user and (changes or request.state == "active"):
        raise InputError(MAY_STOP_ONLY)
    if changes:
        schedule = await service.change(schedule.id, changes)
        _announce(caller, schedule, "changed")
    if request.state == "paused":
        schedule = await service.pause(schedule.id, f"by {user}" if caller.is_signed_in else "by sophon schedules")
        _announce(caller, schedule, "paused")
    elif request.state == "active":
        schedule = await service.resume(schedule.id)
        _announce(caller, schedule, "resumed")
    return _show(caller, schedule)


@table.operation("DELETE /api/schedules/{schedule_id}", needs="Chat", on=SCHEDULE, ok=True)
async def remove_schedule(caller: Caller, request: NamedSchedule, schedule: Schedule) -> Done:
    """Delete a schedule."""
    await _service(caller).remove(schedule.id)
    _announce(caller, schedule, "removed")
    return {}


def _service(caller: Caller) -> ScheduleService:
    return ScheduleService(caller.store, caller.clock, caller.settings.section(SchedulesSettings))


def _show(caller: Caller, schedule: Schedule) -> ScheduleView:
    return schedule_to_json(schedule, _service(caller), caller.sessions.to_client_id(schedule.session_id))


def _announce(caller: Caller, schedule: Schedule, change: str) -> None:
    next_at = schedule.due_at.isoformat() if schedule.due_at is not None and change != "removed" else None
    event = ScheduleChanged(
        schedule_id=schedule.id, change=change, title=schedule.title, reason=schedule.reason, next_at=next_at
    )
    event.session_id = schedule.session_id
    caller.events.emit(event)
