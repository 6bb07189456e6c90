"""`/api/schedules`: make, list, change, pause, resume and remove schedules; users their own, operators all."""

from typing import Annotated, Literal

from aiohttp import web

from sophon._python.value_rules import ValueRules
from sophon.errors import InputError, NotFound
from sophon.events import ScheduleChanged
from sophon.schedules.library import Destination, ScheduleLibrary
from sophon.schedules.requests import MAX_TEXT_CHARACTERS, REQUEST_FIELDS, ScheduleRequest
from sophon.stores.schedules.contract import Schedule
from sophon_hosting.client_api.authorized_host import AuthorizedHost
from sophon_hosting.client_api.rights import HUB_CHANNEL
from sophon_hosting.features.schedules.results import (
    ScheduleDetails,
    ScheduleList,
    ScheduleView,
    list_firings,
    schedule_to_json,
)
from sophon_hosting.http.json_io import (
    RequestBody,
    RequestQuery,
    get_authorized_host,
    get_host,
    get_reader,
    json_response,
    parse_body,
    parse_query,
)

Short = Annotated[str, ValueRules(min_length=1, max_length=200)]


class ScheduleListQuery(RequestQuery):
    """Query of the list of schedules; `everything` (all users') is for operators."""

    everything: bool = False


class ScheduleFields(RequestBody):
    """When a schedule runs: one of `cron`, `every`, `at` (with `day`, or not), `in_minutes`; and how."""

    cron: Short | None = None
    every: Short | None = None
    at: Short | None = None
    day: Short | None = None
    in_minutes: float | None = None
    time_zone: Short | None = None
    title: Short | None = None
    misfire: Short | None = None
    quiet_hours: Annotated[str, ValueRules(max_length=20)] | None = None
    quiet_action: Short | None = None


class ScheduleBody(ScheduleFields):
    """Body of a new schedule: `text`, and exactly one time. The answers go to `session_id`, or to a session of their
    own.
    """

    text: Annotated[str, ValueRules(min_length=1, max_length=MAX_TEXT_CHARACTERS)]
    session_id: str | None = None


class ScheduleChange(ScheduleFields):
    """Body of a change: what is given is changed; `state` pauses or resumes the schedule."""

    text: Annotated[str, ValueRules(min_length=1, max_length=MAX_TEXT_CHARACTERS)] | None = None
    state: Literal["active", "paused"] | None = None


routes = web.RouteTableDef()


@routes.get("/api/schedules")
async def list_schedules(request: web.Request) -> web.Response:
    """List the schedules, oldest first, each with its next times and what became of the last one."""
    query, authorized_host = parse_query(request, ScheduleListQuery), get_reader(request)
    owner = authorized_host.owner_filter(query.everything)
    found = await get_host(request).services.store.schedules.list(owner=owner)
    listed: ScheduleList = {"items": [_to_json(request, each) for each in found]}
    return json_response(listed)


@routes.post("/api/schedules")
async def add_schedule(request: web.Request) -> web.Response:
    """Make a schedule of the user. Raises InputError, OtherMode, OffTheRecordLost."""
    authorized_host = get_authorized_host(request)
    authorized_host.rights.require("Chat")
    body = await parse_body(request, ScheduleBody)
    if not get_host(request).services.settings.schedules.enabled:
        raise InputError("schedules are off here: Schedules.Enabled is false")
    wanted = ScheduleRequest.from_arguments({name: getattr(body, name) for name in REQUEST_FIELDS})
    library = _library(request)
    library.preview(wanted)  # before a session is made for it
    session = await authorized_host.find_or_create_stored(body.session_id or authorized_host.new_session_id())
    user_id = authorized_host.user.id
    made = await library.add(wanted, owner=user_id, destination=Destination(session.id, HUB_CHANNEL, {}))
    _announce(request, made, "added")
    return json_response(_to_json(request, made), 201)


@routes.get("/api/schedules/{schedule_id}")
async def get_schedule(request: web.Request) -> web.Response:
    """Return one schedule with its last firings. Raises NotFound."""
    get_reader(request)
    schedule = await _find(request)
    firings = await list_firings(get_host(request).services.store, schedule)
    details: ScheduleDetails = {**_to_json(request, schedule), "firings": firings}
    return json_response(details)


@routes.patch("/api/schedules/{schedule_id}")
async def change_schedule(request: web.Request) -> web.Response:
    """Change, pause or resume a schedule. Raises NotFound, InputError."""
    authorized_host, body = get_authorized_host(request), await parse_body(request, ScheduleChange)
    authorized_host.rights.require("Chat")
    schedule, library = await _find(request), _library(request)
    changes = {name: value for name in REQUEST_FIELDS if (value := getattr(body, name)) is not None}
    if schedule.owner != authorized_host.user.id and (changes or body.state == "active"):
        raise InputError("an operator may pause and remove the schedules of others, and change nothing else of them")
    if changes:
        schedule = await library.change(schedule.id, changes)
        _announce(request, schedule, "changed")
    if body.state == "paused":
        schedule = await library.pause(schedule.id, f"by {authorized_host.user.id}")
        _announce(request, schedule, "paused")
    elif body.state == "active":
        schedule = await library.resume(schedule.id)
        _announce(request, schedule, "resumed")
    return json_response(_to_json(request, schedule))


@routes.delete("/api/schedules/{schedule_id}")
async def remove_schedule(request: web.Request) -> web.Response:
    """Delete a schedule. Raises NotFound."""
    get_authorized_host(request).rights.require("Chat")
    schedule = await _find(request)
    await _library(request).remove(schedule.id)
    _announce(request, schedule, "removed")
    return json_response({"ok": True})


_FIELDS = (
    *("text", "cron", "every", "at", "day", "in_minutes", "time_zone", "title"),
    *("misfire", "quiet_hours", "quiet_action"),
)


def _library(request: web.Request) -> ScheduleLibrary:
    services = get_host(request).services
    return ScheduleLibrary(services.store, services.clock, services.settings.schedules)


async def _find(request: web.Request) -> Schedule:
    """Return the schedule of the path. Raises NotFound, also for that of another user."""
    schedule_id, user = request.match_info["schedule_id"], get_authorized_host(request).user
    found = await get_host(request).services.store.schedules.find(schedule_id)
    if found is None or not (user.operator or found.owner == user.id):
        raise NotFound("schedule", schedule_id)
    return found


def _to_json(request: web.Request, schedule: Schedule) -> ScheduleView:
    authorized_host: AuthorizedHost = get_authorized_host(request)
    session_id = authorized_host.sessions.to_client_id(schedule.session_id)
    return schedule_to_json(schedule, _library(request), session_id)


def _announce(request: web.Request, schedule: Schedule, change: str) -> None:
    next_at = schedule.due_at.isoformat() if schedule.due_at is not None and change != "removed" else None
    event = ScheduleChanged(
        schedule_id=schedule.id, change=change, title=schedule.title, reason=schedule.reason, next_at=next_at
    )
    event.session_id = schedule.session_id
    get_host(request).event_bus.emit(event)
