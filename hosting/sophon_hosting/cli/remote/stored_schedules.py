"""Schedules in the store, for the commands while no host answers: a host that uses the store finds them by itself."""

from collections.abc import Mapping
from typing import Any

from sophon.clock import SystemClock
from sophon.errors import InputError
from sophon.principals import LOCAL_USER
from sophon.schedules.library import Destination, ScheduleLibrary
from sophon.schedules.requests import REQUEST_FIELDS, ScheduleRequest
from sophon.settings import Settings
from sophon.stores.contract import Store
from sophon_hosting.cli.remote.host_client import JsonRow
from sophon_hosting.client_api.rights import HUB_CHANNEL
from sophon_hosting.features.schedules.results import list_firings, schedule_to_json


async def list_stored_schedules(store: Store, settings: Settings) -> list[JsonRow]:
    """Return the schedules of all users, oldest first."""
    library = _library(store, settings)
    return [schedule_to_json(each, library) for each in await store.schedules.list()]


async def get_stored_schedule(store: Store, settings: Settings, schedule_id: str) -> JsonRow:
    """Return one schedule with its last firings. Raises NotFound."""
    library = _library(store, settings)
    schedule = await library.get(schedule_id)
    return {**schedule_to_json(schedule, library), "firings": await list_firings(store, schedule)}


async def add_stored_schedule(store: Store, settings: Settings, body: Mapping[str, Any]) -> JsonRow:
    """Make a schedule of whoever wrote last in a session, or of the local user in a new session. Raises InputError."""
    library, session_id = _library(store, settings), body.get("session_id")
    request = ScheduleRequest.from_arguments(body)
    library.preview(request)
    owner, destination = await _find_owner(store, settings, library, session_id)
    return schedule_to_json(await library.add(request, owner=owner, destination=destination), library)


async def change_stored_schedule(
    store: Store, settings: Settings, schedule_id: str, body: Mapping[str, Any]
) -> JsonRow:
    """Change, pause or resume a schedule. Raises InputError, NotFound."""
    library = _library(store, settings)
    schedule = await library.get(schedule_id)
    if changes := {name: body[name] for name in REQUEST_FIELDS if name in body}:
        schedule = await library.change(schedule_id, changes)
    if body.get("state") == "paused":
        schedule = await library.pause(schedule_id, "by sophon schedules")
    elif body.get("state") == "active":
        schedule = await library.resume(schedule_id)
    return schedule_to_json(schedule, library)


async def remove_stored_schedule(store: Store, settings: Settings, schedule_id: str) -> None:
    """Delete a schedule. Raises NotFound."""
    await _library(store, settings).remove(schedule_id)


async def _find_owner(
    store: Store, settings: Settings, library: ScheduleLibrary, session_id: str | None
) -> tuple[str, Destination]:
    if session_id is not None:
        destination = await library.find_destination(session_id)
        newest = await store.runs.list(session_id=session_id, limit=1, whole=False)
        if destination is None:
            raise InputError(f"nobody has written in session {session_id!r}, so nobody owns a schedule there")
        return newest[0].owner, destination
    if settings.hub.users:
        raise InputError("give --session: this host has several users, and the schedule belongs to whoever wrote there")
    created = await store.sessions.get_or_create(SystemClock().new_id(), LOCAL_USER)
    return LOCAL_USER, Destination(created.id, HUB_CHANNEL, {})


def _library(store: Store, settings: Settings) -> ScheduleLibrary:
    return ScheduleLibrary(store, SystemClock(), settings.schedules)
