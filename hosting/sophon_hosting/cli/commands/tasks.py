"""`sophon tasks`: list, show and cancel tasks."""

from collections.abc import Sequence
from typing import Annotated, get_args

import typer

from sophon.errors import SophonError
from sophon.stores.runs.contract import RunStatus
from sophon_hosting.cli.common_options import HostUrlOption, JsonOption, TaskArgument, command_group
from sophon_hosting.cli.console.output import write_lines, write_result, write_rows
from sophon_hosting.cli.remote.host_client import JsonRow
from sophon_hosting.cli.remote.host_selection import open_host_client

app = command_group("List, show and cancel tasks.")

TASK_STATUSES = get_args(RunStatus)


@app.command("list")
def list_tasks(
    ctx: typer.Context,
    status: Annotated[str | None, typer.Option(metavar="STATUS", help=f"One of {', '.join(TASK_STATUSES)}.")] = None,
    session: Annotated[str | None, typer.Option(metavar="ID", help="Only tasks of this session.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, metavar="N", help="At most N tasks.")] = 50,
    url: HostUrlOption = None,
    as_json: JsonOption = False,
) -> None:
    """List tasks, the newest first."""
    if status is not None and status not in TASK_STATUSES:
        raise typer.BadParameter(f"--status: {status!r} is not one of {', '.join(TASK_STATUSES)}")
    found = open_host_client(ctx.obj, url).list_tasks(status=status, session_id=session, limit=limit)
    header = ("task", "status", "session", "since", "message")
    write_rows(found, header, map(_table_row, found), "There are no tasks.", as_json=as_json)


@app.command()
def show(ctx: typer.Context, task: TaskArgument, url: HostUrlOption = None, as_json: JsonOption = False) -> None:
    """Show one task."""
    host = open_host_client(ctx.obj, url)
    try:
        row = host.get_task(task)
    except SophonError as error:
        if error.code == "not_found" and host.find_trace(task) is not None:
            raise LocalTurn(task) from error
        raise
    write_result(row, _task_lines(row), as_json=as_json)


@app.command()
def cancel(ctx: typer.Context, task: TaskArgument, url: HostUrlOption = None) -> None:
    """Cancel a task; one that has ended does not change."""
    write_lines([f"{task} is {open_host_client(ctx.obj, url).cancel_task(task)}"])


class LocalTurn(SophonError):
    """Error: the id is that of a turn of `sophon chat`, which is no task of a host."""

    code = "not_found"

    def __init__(self, turn: str) -> None:
        super().__init__(f"{turn} is a turn of `sophon chat`, not a task of a host; `sophon trace {turn}` shows it")


def _table_row(row: JsonRow) -> list[str]:
    return [row["task_id"], row["status"], row["session_id"], _format_time(row["created_at"]), row["description"]]


def _task_lines(row: JsonRow) -> Sequence[str]:
    lines = [f"task     {row['task_id']}", f"session  {row['session_id']}", f"status   {row['status']}"]
    lines += [
        f"{name:<9}{_format_time(row[key])}" for name, key in (("accepted", "created_at"), ("ended", "finished_at"))
    ]
    lines.append(f"message  {row['text']}")
    if row["answer"]:
        lines.append(f"answer   {row['answer']}")
    if row["error"]:
        lines.append(f"error    {row['error']['message']} ({row['error']['code']}, {row['error']['id']})")
    lines += [f"waits    for approval {each}" for each in row["waiting_for"]]
    return lines


def _format_time(at: str | None) -> str:
    return at[:19].replace("T", " ") if at else "not yet"
