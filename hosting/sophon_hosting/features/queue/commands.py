"""`sophon queue`: status and dead letters of a host's queue; pause, resume, drain, retry."""

from collections.abc import Iterable, Sequence
from typing import Annotated, Any

import typer

from sophon_hosting.cli.common_options import HostUrlOption, JsonOption, command_group
from sophon_hosting.cli.console.output import write_json, write_lines, write_result, write_table
from sophon_hosting.cli.operation_commands import Row, show_command
from sophon_hosting.cli.remote.host_selection import open_client
from sophon_hosting.client_api.stored_caller import RunningHostRequired
from sophon_hosting.features.queue import operations as queue
from sophon_hosting.operations.client import Client

app = command_group("Show the queue of a host, retry dead letters, pause, resume and drain it.")

AllDeadLettersOption = Annotated[bool, typer.Option("--all", help="Retry all dead letters.")]
DeadLetterArgument = Annotated[str | None, typer.Argument(metavar="ID", help="The task or message of a dead letter.")]


@app.command()
def status(ctx: typer.Context, url: HostUrlOption = None, as_json: JsonOption = False) -> None:
    """Show how full the queue is."""
    row = _find_status(open_client(ctx.obj, url))
    write_result(row, to_lines(row), as_json=as_json)


@app.command()
def dead(ctx: typer.Context, url: HostUrlOption = None, as_json: JsonOption = False) -> None:
    """List the dead letters: tasks, and messages to chats that could not be delivered."""
    found: Sequence[Row] = open_client(ctx.obj, url).call(queue.list_dead_letters)["items"]
    if as_json:
        write_json(list(found))
    elif found:
        _show_dead_tasks([each for each in found if each["kind"] == "task"])
        _show_undelivered([each for each in found if each["kind"] == "message"])
    else:
        write_lines(["There are no dead letters."])


@app.command()
def retry(
    ctx: typer.Context,
    task: DeadLetterArgument = None,
    everything: AllDeadLettersOption = False,
    url: HostUrlOption = None,
) -> None:
    """Queue a dead letter again: a task as a new one, a message to a chat in its old place."""
    if (task is None) == (not everything):
        raise typer.BadParameter("name one dead letter, or --all")
    client = open_client(ctx.obj, url)
    ids = [task] if task is not None else [each["id"] for each in client.call(queue.list_dead_letters)["items"]]
    for each in ids:
        client.call(queue.retry_dead_letter, task_id=each)
    write_lines([f"{len(ids)} {'dead letter is' if len(ids) == 1 else 'dead letters are'} queued again"])


def to_lines(row: Row) -> Iterable[str]:
    """Return the statistics of a queue, one per line."""
    facts = {name: value for name, value in row.items() if name != "ok"}
    return (f"{name.replace('_', ' '):<24}{_value_text(value)}" for name, value in facts.items())


show_command(app, queue.pause_queue, to_lines, name="pause")
show_command(app, queue.resume_queue, to_lines, name="resume")
show_command(app, queue.drain_queue, to_lines, name="drain", summary="Pause, and wait until no turn is running.")


def _find_status(client: Client) -> Any:
    try:
        return client.call(queue.get_queue)
    except RunningHostRequired:
        return client.call(queue.get_stored_queue)


def _show_dead_tasks(found: Sequence[Row]) -> None:
    if found:
        rows = [[each["task_id"], each["session_id"], str(each["deliveries"]), each["died_at"][:19]] for each in found]
        write_table(("task", "session", "attempts#", "dead since"), rows)


def _show_undelivered(found: Sequence[Row]) -> None:
    if found:
        rows = [
            [
                each["id"],
                f"{each['channel']} {each['chat']}",
                str(each["created_at"])[:19],
                ("may have arrived; " if each["may_have_arrived"] else "") + str(each["error"]),
            ]
            for each in found
        ]
        write_table(("undelivered message", "chat", "written", "error"), rows)


def _value_text(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) else str(value)
