"""`sophon queue`: status and dead letters of a host's queue; pause, resume, drain, retry."""

from typing import Annotated

import typer

from sophon_hosting.cli.remote.reach import Row, reach
from sophon_hosting.cli.screen import write_json, write_lines, write_table
from sophon_hosting.cli.tasks import AsJson, Url

app = typer.Typer(rich_markup_mode=None, add_completion=False)

All = Annotated[bool, typer.Option("--all", help="Retry all dead letters.")]
MaybeTask = Annotated[str | None, typer.Argument(metavar="TASK", help="The task of a dead letter.")]


@app.callback()
def queue() -> None:
    """Show the queue of a host, pause, resume and drain it."""


@app.command()
def status(ctx: typer.Context, url: Url = None, as_json: AsJson = False) -> None:
    """Show how full the queue is."""
    _show(reach(ctx.obj, url).queue(), as_json=as_json)


@app.command()
def dead(ctx: typer.Context, url: Url = None, as_json: AsJson = False) -> None:
    """List the dead letters."""
    found = reach(ctx.obj, url).dead()
    if as_json:
        write_json(list(found))
    elif found:
        rows = [[each["task_id"], each["session_id"], str(each["deliveries"]), each["died_at"][:19]] for each in found]
        write_table(("task", "session", "attempts#", "dead since"), rows)
    else:
        write_lines(["There are no dead letters."])


@app.command()
def retry(ctx: typer.Context, task: MaybeTask = None, everything: All = False, url: Url = None) -> None:
    """Queue a dead letter again as a new task."""
    if (task is None) == (not everything):
        raise typer.BadParameter("name one task, or --all")
    host = reach(ctx.obj, url)
    ids = [task] if task is not None else [str(each["task_id"]) for each in host.dead()]
    for each in ids:
        host.retry(each)
    write_lines([f"{len(ids)} {'task is' if len(ids) == 1 else 'tasks are'} queued again"])


@app.command()
def pause(ctx: typer.Context, url: Url = None) -> None:
    """Start no more turns; new messages are still accepted."""
    _show(reach(ctx.obj, url).switch("pause"))


@app.command()
def resume(ctx: typer.Context, url: Url = None) -> None:
    """Start turns again."""
    _show(reach(ctx.obj, url).switch("resume"))


@app.command()
def drain(ctx: typer.Context, url: Url = None) -> None:
    """Pause, and wait until no turn is running."""
    _show(reach(ctx.obj, url).switch("drain"))


def _show(row: Row, *, as_json: bool = False) -> None:
    if as_json:
        write_json(row)
        return
    facts = {name: value for name, value in row.items() if name != "ok"}
    write_lines(f"{name.replace('_', ' '):<24}{_value_text(value)}" for name, value in facts.items())


def _value_text(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) else str(value)
