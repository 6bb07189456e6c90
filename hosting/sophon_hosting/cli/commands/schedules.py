"""`sophon schedules`: list, show, add, pause, resume and remove schedules, of a running host or in its store."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any

import typer

from sophon.errors import NotFound
from sophon.schedules.wording import format_moment
from sophon_hosting.cli.common_options import HostUrlOption, JsonOption, command_group
from sophon_hosting.cli.console.output import write_json, write_lines, write_result, write_rows
from sophon_hosting.cli.remote.host_client import JsonRow
from sophon_hosting.cli.remote.host_selection import HostClient, open_host_client

IdArgument = Annotated[str, typer.Argument(metavar="ID", help="Id of a schedule, or a unique prefix.")]
SHOWN_CHARACTERS = 40

app = command_group("List, show, add, pause, resume and remove tasks that the host starts at set times.")


@app.command("list")
def list_schedules(ctx: typer.Context, url: HostUrlOption = None, as_json: JsonOption = False) -> None:
    """List the schedules, oldest first."""
    found = open_host_client(ctx.obj, url).list_schedules()
    header = ("id", "user", "state", "runs", "next", "last", "text")
    write_rows(found, header, map(_to_cells, found), "There are no schedules.", as_json=as_json)


@app.command()
def show(ctx: typer.Context, schedule: IdArgument, url: HostUrlOption = None, as_json: JsonOption = False) -> None:
    """Show a schedule: when it runs, where its answers go, what became of its last time, and its last runs."""
    host = open_host_client(ctx.obj, url)
    row = host.get_schedule(str(_find(host, schedule)["schedule_id"]))
    if as_json:
        write_json(row)
        return
    last: Mapping[str, Any] = row["last"] or {}
    facts = {
        "schedule": row["schedule_id"],
        "of": row["user"],
        "state": f"{row['state']}: {row['reason']}" if row["reason"] else row["state"],
        "runs": row["runs"],
        "next": "; ".join(_format(each, row) for each in row["next"]),
        "last": f"{_format(last['due_at'], row)}, {last['outcome']} {last['reason'] or ''}".strip() if last else "",
        "task": last.get("task_id") or "",
        "misfire": row["misfire"],
        "quiet hours": f"{row['quiet_hours']}, {row['quiet_action']}" if row["quiet_hours"] else "",
        "answers to": f"session {row['session_id']} ({row['channel']})",
        "made by": f"{row['created_by']} at {row['created_at'][:16]}",
    }
    write_lines([f"{label + ':':13}{value}" for label, value in facts.items() if value])
    for each in row["firings"]:
        write_lines([f"{'fired:':13}{_format(each['due_at'], row)}, {each['outcome']} ({each['task_id']})"])
    write_lines(["", str(row["text"])])


@app.command("next")
def next_times(
    ctx: typer.Context, schedule: IdArgument, url: HostUrlOption = None, as_json: JsonOption = False
) -> None:
    """Print the next times of a schedule, in its time zone."""
    row = _find(open_host_client(ctx.obj, url), schedule)
    lines = [_format(each, row) for each in row["next"]] or [f"{row['schedule_id']} is {row['state']}."]
    write_result(row["next"], lines, as_json=as_json)


@app.command()
def add(
    ctx: typer.Context,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The message that is sent to the agent each time.")],
    cron: Annotated[str | None, typer.Option(metavar="FIELDS", help="Cron: minute hour day month weekday.")] = None,
    every: Annotated[str | None, typer.Option(metavar="INTERVAL", help="As 15 minutes, 2 hours, daily.")] = None,
    at: Annotated[str | None, typer.Option(metavar="TIME", help="Once: 08:00, or 2026-12-24T18:00.")] = None,
    day: Annotated[str | None, typer.Option(metavar="DAY", help="With --at: tomorrow, a weekday, a date.")] = None,
    in_minutes: Annotated[float | None, typer.Option(metavar="N", help="Once, after so many minutes.")] = None,
    time_zone: Annotated[str | None, typer.Option(metavar="ZONE", help="As Europe/Vienna; Schedules.TimeZone.")] = None,
    misfire: Annotated[str | None, typer.Option(metavar="POLICY", help="After a stop: skip, once or all.")] = None,
    quiet_hours: Annotated[str | None, typer.Option(metavar="HH:MM-HH:MM", help="Nothing runs then; or none.")] = None,
    session: Annotated[str | None, typer.Option(metavar="ID", help="Session for the answers; a new one.")] = None,
    url: HostUrlOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make a schedule; give exactly one of --cron, --every, --at and --in-minutes."""
    given = {
        "cron": cron,
        "every": every,
        "at": at,
        "day": day,
        "in_minutes": in_minutes,
        "time_zone": time_zone,
        "misfire": misfire,
        "quiet_hours": quiet_hours,
        "session_id": session,
    }
    body = {"text": text, **{name: value for name, value in given.items() if value is not None}}
    row = open_host_client(ctx.obj, url).add_schedule(body)
    times = "; ".join(_format(each, row) for each in row["next"])
    write_result(row, [f"{row['schedule_id']} runs {row['runs']}; next: {times}"], as_json=as_json)


@app.command()
def pause(ctx: typer.Context, schedule: IdArgument, url: HostUrlOption = None) -> None:
    """Pause a schedule: its times pass, until it is resumed."""
    _change(ctx, schedule, url, "paused")


@app.command()
def resume(ctx: typer.Context, schedule: IdArgument, url: HostUrlOption = None) -> None:
    """Let a paused schedule go on, from its next time on."""
    _change(ctx, schedule, url, "active")


@app.command()
def remove(ctx: typer.Context, schedule: IdArgument, url: HostUrlOption = None) -> None:
    """Delete a schedule."""
    host = open_host_client(ctx.obj, url)
    schedule_id = str(_find(host, schedule)["schedule_id"])
    host.remove_schedule(schedule_id)
    write_lines([f"{schedule_id} is removed"])


def _change(ctx: typer.Context, schedule: str, url: str | None, state: str) -> None:
    host = open_host_client(ctx.obj, url)
    row = host.change_schedule(str(_find(host, schedule)["schedule_id"]), {"state": state})
    times = "; ".join(_format(each, row) for each in row["next"])
    write_lines([f"{row['schedule_id']} is {row['state']}{f'; next: {times}' if times else ''}"])


def _find(host: HostClient, schedule: str) -> JsonRow:
    rows: Sequence[JsonRow] = host.list_schedules()
    ids = {str(row["schedule_id"]): row for row in rows}
    if schedule in ids:
        return ids[schedule]
    found = [each for each in ids if each.startswith(schedule) or each.removeprefix("sch_").startswith(schedule)]
    if len(found) != 1:
        raise NotFound("single schedule" if found else "schedule", schedule, found[:3])
    return ids[found[0]]


def _to_cells(row: JsonRow) -> list[str]:
    next_at = _format(row["next"][0], row) if row["next"] else ""
    last = str(row["last"]["outcome"]) if row["last"] else ""
    text = " ".join(str(row["text"]).split())
    shown = text if len(text) <= SHOWN_CHARACTERS else f"{text[: SHOWN_CHARACTERS - 1]}…"
    return [str(row["schedule_id"]), str(row["user"]), str(row["state"]), str(row["runs"]), next_at, last, shown]


def _format(moment: str, row: JsonRow) -> str:
    return format_moment(datetime.fromisoformat(moment), str(row["time_zone"]))
