"""`sophon tasks`: list, show and cancel tasks."""

from collections.abc import Sequence

import typer

from sophon.errors import SophonError
from sophon_hosting.cli.common_options import HostUrlOption, JsonOption, TaskArgument, command_group
from sophon_hosting.cli.console.output import write_result
from sophon_hosting.cli.operation_commands import Row, list_command, sentence_formatter, show_command
from sophon_hosting.cli.remote.host_selection import open_client
from sophon_hosting.features.tasks import operations as tasks
from sophon_hosting.features.tasks.trace_commands import find_trace
from sophon_hosting.rendering.value_formatting import format_time

app = command_group("List, show and cancel tasks.")

list_command(
    app,
    tasks.list_tasks,
    {
        "task": "task_id",
        "status": "status",
        "session": "session_id",
        "since": lambda row: format_time(row["created_at"]),
        "message": "description",
    },
    "There are no tasks.",
    defaults={"limit": 50},
)


@app.command()
def show(ctx: typer.Context, task: TaskArgument, url: HostUrlOption = None, as_json: JsonOption = False) -> None:
    """Show one task."""
    client = open_client(ctx.obj, url)
    try:
        row = client.call(tasks.get_task, task_id=task)
    except SophonError as error:
        if error.code == "not_found" and find_trace(client, task) is not None:
            raise LocalTurn(task) from error
        raise
    write_result(row, _task_lines(row), as_json=as_json)


show_command(app, tasks.cancel_task, sentence_formatter("{task_id} is {status}"), name="cancel")


class LocalTurn(SophonError):
    """Error: the id is that of a turn of `sophon chat`, which is no task of a host."""

    code = "not_found"

    def __init__(self, turn: str) -> None:
        super().__init__(f"{turn} is a turn of `sophon chat`, not a task of a host; `sophon trace {turn}` shows it")


def _task_lines(row: Row) -> Sequence[str]:
    lines = [f"task     {row['task_id']}", f"session  {row['session_id']}", f"status   {row['status']}"]
    lines.append(f"accepted {format_time(row['created_at']) or 'not yet'}")
    lines.append(f"ended    {format_time(row['finished_at']) or 'not yet'}")
    lines.append(f"message  {row['text']}")
    if row["answer"]:
        lines.append(f"answer   {row['answer']}")
    if row["error"]:
        lines.append(f"error    {row['error']['message']} ({row['error']['code']}, {row['error']['id']})")
    lines += [f"waits    for approval {each}" for each in row["waiting_for"]]
    return lines
