"""Built-in tools `schedules.add`, `.list`, `.pause`, `.resume` and `.remove`: tasks that the host starts later.

A host that fires schedules registers them; an embedded chain has none.
"""

from collections.abc import Mapping
from typing import Annotated, Any

from sophon._python.value_rules import ValueRules
from sophon.context import Context
from sophon.errors import InputError, NotFound, ToolError
from sophon.scheduled_turns import SCHEDULE
from sophon.tools.tool import Risk, Tool, tool
from sophon.tools.untrusted_text import find_fence_sources
from sophon.turn.provenance import (
    collect_untrusted_sources,
    has_read_untrusted,
    is_call_of_client,
    is_of_program,
    list_person_texts,
)
from sophon_hosting.features.schedules.events import ScheduleChanged
from sophon_hosting.features.schedules.occurrences import Recurrence
from sophon_hosting.features.schedules.request_provenance import follows_from_people
from sophon_hosting.features.schedules.requests import MAX_TEXT_CHARACTERS, ScheduleRequest
from sophon_hosting.features.schedules.schedule import Schedule
from sophon_hosting.features.schedules.schedule_service import Destination, ScheduleService
from sophon_hosting.features.schedules.schedule_text import describe_recurrence, format_moment
from sophon_hosting.features.schedules.settings import SchedulesSettings
from sophon_hosting.features.schedules.stored_schedules import stored_schedules
from sophon_hosting.store.contract import host_store

GROUP = "schedules"

NESTED = "a scheduled task cannot make schedules; a person must ask for one"
NOT_ASKED_FOR = (
    "this conversation has read texts of others, and nobody in it has asked for this schedule in these words. Tell the "
    "person, who can write what is to be done and when, or use `sophon schedules add`"
)
"""Why a call is refused that may follow from a web page."""
FROM_CLIENT = "A program asks for this with a token; nobody wrote it in a conversation."
"""What a person is told who is asked about a call of a client."""


def _find_problem(ctx: Context, arguments: Mapping[str, Any]) -> str | None:
    """Return why a schedule cannot be made in this turn, before a person is asked."""
    if ctx.root.get(SCHEDULE) is not None:
        return NESTED
    has_read_others = has_read_untrusted(ctx) and not _comes_from_client(ctx)
    if has_read_others and not follows_from_people(arguments, list_person_texts(ctx)):
        return NOT_ASKED_FOR
    try:
        _service(ctx).preview(ScheduleRequest.from_arguments(arguments))
    except InputError as error:
        return str(error)
    return None


def _find_risk(ctx: Context, arguments: Mapping[str, Any]) -> Risk:
    """Return Medium for one reminder in this chat, in the words of the person who writes: it starts one turn, whose
    calls are asked about like those of a turn now. High for what repeats, for groups, and after texts of others.
    """
    newest = next((each for each in reversed(ctx.root.messages) if each.role == "user"), None)
    is_of_person = newest is not None and not newest.origin and not ctx.group and not is_of_program(ctx)
    if not is_of_person or arguments.get("cron") or arguments.get("every") or has_read_untrusted(ctx):
        return Risk.HIGH
    return Risk.MEDIUM if follows_from_people(arguments, list_person_texts(ctx)) else Risk.HIGH


def _write_preview(ctx: Context, arguments: Mapping[str, Any]) -> str:
    try:
        preview = _service(ctx).preview(ScheduleRequest.from_arguments(arguments))
        return f"{preview}\n{FROM_CLIENT}" if _comes_from_client(ctx) else preview
    except (InputError, TypeError) as error:  # the call fails before anybody is asked
        return str(error)


@tool(
    deferred=True,
    name="schedules.add",
    lasting=True,
    risk=Risk.HIGH,
    group=GROUP,
    editable=False,
    approval_note=_write_preview,
    find_problem=_find_problem,
    find_risk=_find_risk,
    tags=("schedule", "remind", "reminder", "every", "daily", "hourly", "weekly", "later", "cron", "alarm", "task"),
)
async def schedules_add(
    ctx: Context,
    text: Annotated[str, ValueRules(min_length=1, max_length=MAX_TEXT_CHARACTERS)],
    cron: str | None = None,
    every: str | None = None,
    at: str | None = None,
    day: str | None = None,
    in_minutes: float | None = None,
    time_zone: str | None = None,
) -> str:
    """Make a schedule: at its times you get the text as a message, and your answer goes to this chat. Give exactly one
    of cron, every, at and in_minutes.

    Args:
        text: What is to be done then, in the words of the person.
        cron: Five cron fields in local time, such as 0 8 * * 1-5.
        every: An interval, such as 15 minutes, 2 hours, daily.
        at: Once: a time of day such as 08:00, or a date and time such as 2026-12-24T18:00.
        day: With at, the day of it: today, tomorrow, in 2 days, a weekday, 24 december, or a date.
        in_minutes: Once, after so many minutes.
        time_zone: An IANA name such as Europe/Vienna.
    """
    given = {"cron": cron, "every": every, "at": at, "day": day, "in_minutes": in_minutes, "time_zone": time_zone}
    arguments = {"text": text, **given}
    if ctx.root.get(SCHEDULE) is not None:
        raise ToolError(NESTED)
    # Of earlier turns too, also those whose messages are summarised by now.
    sources = await collect_untrusted_sources(ctx)
    is_asked_for = not sources or is_call_of_client(ctx, sources)  # about which Approval asks, as it lasts
    if not is_asked_for and not follows_from_people(arguments, list_person_texts(ctx)):
        raise ToolError(NOT_ASKED_FOR)
    run = await host_store(ctx.services).runs.find(ctx.task_id)
    if run is None:
        raise ToolError("schedules need a host, which fires them; this turn has none")
    service = _service(ctx)
    try:
        request = ScheduleRequest.from_arguments(arguments)
        made = await service.add(request, owner=ctx.principal, destination=Destination.of_run(run))
    except InputError as error:
        raise ToolError(str(error)) from None
    _announce(ctx, made, "added")
    return f"Schedule {made.id} ({made.title!r}) is made. {service.describe(made)}"


@tool(
    deferred=True,
    name="schedules.list",
    risk=Risk.NONE,
    group=GROUP,
    idempotent=True,
    tags=("schedule", "schedules", "reminders", "list", "tasks", "scheduled"),
)
async def schedules_list(ctx: Context) -> list[dict[str, Any]] | str:
    """Show the schedules of this person; in a group those of the group: what they do, and when they run next."""
    found = await _list_visible(ctx)
    return [_to_row(ctx, each) for each in found] or "There are no schedules."


@tool(
    deferred=True,
    name="schedules.remove",
    lasting=True,
    risk=Risk.MEDIUM,
    group=GROUP,
    tags=("schedule", "reminder", "remove", "delete", "cancel", "stop"),
)
async def schedules_remove(ctx: Context, name: str) -> str:
    """Delete a schedule for good.

    Args:
        name: Its id, as schedules.list shows it, or its title.
    """
    schedule = await _find_own(ctx, name)
    await stored_schedules(host_store(ctx.services)).remove(schedule.id)
    _announce(ctx, schedule, "removed")
    return f"Schedule {schedule.id} ({schedule.title!r}) is removed."


@tool(
    deferred=True,
    name="schedules.pause",
    lasting=True,
    risk=Risk.LOW,
    group=GROUP,
    tags=("schedule", "reminder", "pause", "stop"),
)
async def schedules_pause(ctx: Context, name: str) -> str:
    """Pause a schedule until it is resumed.

    Args:
        name: Its id, as schedules.list shows it, or its title.
    """
    schedule = await _find_own(ctx, name)
    paused = await _service(ctx).pause(schedule.id, "in the chat")
    _announce(ctx, paused, "paused")
    return f"Schedule {paused.id} ({paused.title!r}) is {paused.state}."


@tool(
    deferred=True,
    name="schedules.resume",
    lasting=True,
    risk=Risk.HIGH,
    group=GROUP,
    editable=False,
    tags=("schedule", "reminder", "resume", "continue"),
)
async def schedules_resume(ctx: Context, name: str) -> str:
    """Let a paused schedule run again.

    Args:
        name: Its id, as schedules.list shows it, or its title.
    """
    schedule = await _find_own(ctx, name)
    service = _service(ctx)
    try:
        resumed = await service.resume(schedule.id)
    except InputError as error:
        raise ToolError(str(error)) from None
    _announce(ctx, resumed, "resumed")
    return f"Schedule {resumed.id} ({resumed.title!r}) goes on. {service.describe(resumed)}"


def schedule_tools() -> list[Tool]:
    """Return the tools of schedules."""
    return [schedules_add, schedules_list, schedules_remove, schedules_pause, schedules_resume]


def _service(ctx: Context) -> ScheduleService:
    services = ctx.services
    return ScheduleService(host_store(services), services.clock, services.settings.section(SchedulesSettings))


def _comes_from_client(ctx: Context) -> bool:
    fenced = [source for message in ctx.root.messages for source in find_fence_sources(message.content)]
    return is_call_of_client(ctx, [*ctx.tally.untrusted_sources, *fenced])


async def _list_visible(ctx: Context) -> list[Schedule]:
    """Return the schedules that may be shown in this turn: a group sees nothing of what a person has elsewhere."""
    if ctx.group:
        return await stored_schedules(host_store(ctx.services)).list(session_id=ctx.session_id)
    return await stored_schedules(host_store(ctx.services)).list(owner=ctx.principal)


async def _find_own(ctx: Context, name: str) -> Schedule:
    own = [each for each in await _list_visible(ctx) if each.owner == ctx.principal]
    wanted = name.strip().casefold()
    found = [each for each in own if wanted in (each.id, each.id.removeprefix("sch_"), each.title.casefold())]
    if len(found) > 1:
        raise ToolError(f"several schedules are called {name!r}; give an id: {', '.join(each.id for each in found)}")
    if not found:
        raise ToolError(f"there is no schedule {name!r}; schedules.list shows the ids") from NotFound("schedule", name)
    return found[0]


def _to_row(ctx: Context, schedule: Schedule) -> dict[str, Any]:
    times = _service(ctx).list_next(schedule)
    return {
        "id": schedule.id,
        "text": schedule.text,
        "runs": describe_recurrence(Recurrence.of(schedule)),
        "state": f"{schedule.state}: {schedule.reason}" if schedule.reason else schedule.state,
        "next": [format_moment(each, schedule.time_zone) for each in times],
    }


def _announce(ctx: Context, schedule: Schedule, change: str) -> None:
    next_at = schedule.due_at.isoformat() if schedule.due_at is not None and change != "removed" else None
    event = ScheduleChanged(schedule_id=schedule.id, change=change, title=schedule.title, next_at=next_at)
    event.reason = schedule.reason
    ctx.emit(event)
