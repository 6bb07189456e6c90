"""`sophon queue`: status and dead letters of a host's queue; pause, resume, drain, retry."""

from collections.abc import Sequence
from typing import Annotated

import typer

from sophon_hosting.cli.common_options import HostUrlOption, JsonOption, command_group
from sophon_hosting.cli.console.output import write_json, write_lines, write_table
from sophon_hosting.cli.remote.host_client import JsonRow
from sophon_hosting.cli.remote.host_selection import open_host_client

app = command_group("Show the queue of a host, pause, resume and drain it.")

AllDeadLettersOption = Annotated[bool, typer.Option("--all", help="Retry all dead letters.")]
DeadLetterArgument = Annotated[str | None, typer.Argument(metavar="ID", help="The task or message of a dead letter.")]


@app.command()
def status(ctx: typer.Context, url: HostUrlOption = None, as_json: JsonOption = False) -> None:
    """Show how full the queue is."""
    _show(open_host_client(ctx.obj, url).queue_status(), as_json=as_json)


@app.command()
def dead(ctx: typer.Context, url: HostUrlOption = None, as_json: JsonOption = False) -> None:
    """List the dead letters: tasks, and messages to chats that could not be delivered."""
    found = open_host_client(ctx.obj, url).list_dead_letters()
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
    host = open_host_client(ctx.obj, url)
    ids = [task] if task is not None else [str(each["id"]) for each in host.list_dead_letters()]
    for each in ids:
        host.retry_dead_letter(each)
    write_lines([f"{len(ids)} {'dead letter is' if len(ids) == 1 else 'dead letters are'} queued again"])


@app.command()
def pause(ctx: typer.Context, url: HostUrlOption = None) -> None:
    """Start no more turns; new messages are still accepted."""
    _show(open_host_client(ctx.obj, url).control_queue("pause"))


@app.command()
def resume(ctx: typer.Context, url: HostUrlOption = None) -> None:
    """Start turns again."""
    _show(open_host_client(ctx.obj, url).control_queue("resume"))


@app.command()
def drain(ctx: typer.Context, url: HostUrlOption = None) -> None:
    """Pause, and wait until no turn is running."""
    _show(open_host_client(ctx.obj, url).control_queue("drain"))


def _show_dead_tasks(found: Sequence[JsonRow]) -> None:
    if found:
        rows = [[each["task_id"], each["session_id"], str(each["deliveries"]), each["died_at"][:19]] for each in found]
        write_table(("task", "session", "attempts#", "dead since"), rows)


def _show_undelivered(found: Sequence[JsonRow]) -> None:
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


def _show(row: JsonRow, *, as_json: bool = False) -> None:
    if as_json:
        write_json(row)
        return
    facts = {name: value for name, value in row.items() if name != "ok"}
    write_lines(f"{name.replace('_', ' '):<24}{_value_text(value)}" for name, value in facts.items())


def _value_text(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) else str(value)
