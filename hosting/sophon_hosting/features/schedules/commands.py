"""`sophon schedules`: list, show, add, pause, resume and remove schedules, of a running host or in its store."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any, Final

import typer

from sophon.errors import NotFound
from sophon_hosting.cli.common_options import HostUrlOption, JsonOption, command_group
from sophon_hosting.cli.console.id_prefix import complete_id
from sophon_hosting.cli.console.output import fact_lines, write_result
from sophon_hosting.cli.operation_commands import Row, list_command, sentence_formatter, show_command
from sophon_hosting.cli.remote.host_selection import open_client
from sophon_hosting.features.schedules import operations as schedules
from sophon_hosting.features.schedules.schedule_text import format_moment
from sophon_hosting.operations.client import Client
from sophon_hosting.rendering.control_characters import to_single_line

IdArgument = Annotated[str, typer.Argument(metavar="ID", help="Id of a schedule, or a unique prefix.")]
SHOWN_CHARACTERS = 40

app = command_group("List, show, add, pause, resume and remove tasks that the host starts at set times.")


list_command(
    app,
    schedules.list_schedules,
    {
        "id": "schedule_id",
        "user": "user",
        "state": "state",
        "runs": "runs",
        "next": lambda row: _format(row["next"][0], row) if row["next"] else "",
        "last": lambda row: row["last"]["outcome"] if row["last"] else "",
        "text": lambda row: to_single_line(row["text"], SHOWN_CHARACTERS),
    },
    "There are no schedules.",
)


@app.command("next")
def next_times(
    ctx: typer.Context, schedule: IdArgument, url: HostUrlOption = None, as_json: JsonOption = False
) -> None:
    """Print the next times of a schedule, in its time zone."""
    row = _find(open_client(ctx.obj, url), schedule)
    lines = [_format(each, row) for each in row["next"]] or [f"{row['schedule_id']} is {row['state']}."]
    write_result(row["next"], lines, as_json=as_json)


def _find_id(client: Client, given: str) -> str:
    return str(_find(client, given)["schedule_id"])


def _find(client: Client, schedule: str) -> Row:
    """Return the schedule of an id or a unique prefix. Raises NotFound."""
    rows = client.call(schedules.list_schedules, everything=client.is_operator)["items"]
    by_id: Mapping[str, Row] = {row["schedule_id"]: row for row in rows}
    found = by_id.get(complete_id(by_id, schedule, "schedule"))
    if found is None:
        raise NotFound("schedule", schedule)
    return found


def _schedule_lines(row: Row) -> Sequence[str]:
    last: Mapping[str, Any] = row["last"] or {}
    facts = {
        "schedule": row["schedule_id"],
        "of": row["user"],
        "state": f"{row['state']}: {row['reason']}" if row["reason"] else row["state"],
        "runs": row["runs"],
        "next": _next_times(row),
        "last": f"{_format(last['due_at'], row)}, {last['outcome']} {last['reason'] or ''}".strip() if last else "",
        "task": last.get("task_id") or "",
        "misfire": row["misfire"],
        "quiet hours": f"{row['quiet_hours']}, {row['quiet_action']}" if row["quiet_hours"] else "",
        "answers to": f"session {row['session_id']} ({row['channel']})",
        "made by": f"{row['created_by']} at {row['created_at'][:16]}",
    }
    return [
        *fact_lines(facts),
        *(
            f"{'fired:':13}{_format(each['due_at'], row)}, {each['outcome']} ({each['task_id']})"
            for each in row["firings"]
        ),
        "",
        row["text"],
    ]


def _state_lines(row: Row) -> Sequence[str]:
    times = _next_times(row)
    return [f"{row['schedule_id']} is {row['state']}{f'; next: {times}' if times else ''}"]


def _next_times(row: Row) -> str:
    return "; ".join(_format(each, row) for each in row["next"])


def _format(moment: str, row: Row) -> str:
    return format_moment(datetime.fromisoformat(moment), str(row["time_zone"]))


NAMED: Final[Mapping[str, Any]] = {"find_id": _find_id, "options": {"schedule_id": IdArgument}}

show_command(
    app,
    schedules.get_schedule,
    _schedule_lines,
    summary="Show a schedule: when it runs, where its answers go, what became of its last time, and its last runs.",
    **NAMED,
)
show_command(
    app,
    schedules.add_schedule,
    lambda row: [f"{row['schedule_id']} runs {row['runs']}; next: {_next_times(row)}"],
    name="add",
    arguments=("text",),
    summary="Make a schedule of the user: give one of --cron, --every, --at (with --day) and --in-minutes.",
)
show_command(
    app,
    schedules.change_schedule,
    _state_lines,
    name="pause",
    fixed={"state": "paused"},
    summary="Pause a schedule: its times pass, until it is resumed.",
    **NAMED,
)
show_command(
    app,
    schedules.change_schedule,
    _state_lines,
    name="resume",
    fixed={"state": "active"},
    summary="Let a paused schedule go on, from its next time on.",
    **NAMED,
)
show_command(app, schedules.remove_schedule, sentence_formatter("{schedule_id} is removed"), name="remove", **NAMED)
