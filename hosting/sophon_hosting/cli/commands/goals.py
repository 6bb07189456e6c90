"""`sophon goals`: list, show, create and delete goals; pause, resume and cancel them."""

from collections.abc import Sequence
from typing import Annotated

import typer

from sophon_hosting.cli.common_options import HostUrlOption, JsonOption, command_group
from sophon_hosting.cli.console.confirmation import YesOption, confirm
from sophon_hosting.cli.console.output import write_lines, write_result, write_rows
from sophon_hosting.cli.remote.host_client import JsonRow
from sophon_hosting.cli.remote.host_selection import open_host_client
from sophon_hosting.rendering.control_characters import to_single_line

app = command_group("List, show, create and delete goals; pause, resume and cancel them.")

GoalArgument = Annotated[str, typer.Argument(metavar="GOAL", help="The id of a goal; `sophon goals list` shows them.")]

SHOWN_CHARACTERS = 200
NOTHING = "nothing was deleted"


@app.command("list")
def list_goals(
    ctx: typer.Context,
    archived: Annotated[bool, typer.Option("--archived", help="Archived goals, too.")] = False,
    limit: Annotated[int, typer.Option(min=1, max=1000, metavar="N", help="At most N goals.")] = 50,
    url: HostUrlOption = None,
    as_json: JsonOption = False,
) -> None:
    """List goals, the newest first."""
    found = open_host_client(ctx.obj, url).list_goals(archived=archived, limit=limit)
    header = ("goal", "state", "done#", "user", "title", "reason")
    write_rows(found, header, map(_table_row, found), "There are no goals.", as_json=as_json)


@app.command()
def show(ctx: typer.Context, goal: GoalArgument, url: HostUrlOption = None, as_json: JsonOption = False) -> None:
    """Show a goal: its steps, what it has used of each limit, and when the host looks at it next."""
    row = open_host_client(ctx.obj, url).get_goal(goal)
    write_result(row, _goal_lines(row), as_json=as_json)


@app.command()
def create(
    ctx: typer.Context,
    title: Annotated[str, typer.Argument(metavar="TITLE", help="A few words.")],
    description: Annotated[
        str, typer.Option("--description", "-d", metavar="TEXT", help="What is to be reached; by default the title.")
    ] = "",
    autonomy: Annotated[
        str | None,
        typer.Option(metavar="MODE", help="assist asks about every call, semi from High risk on, full: Critical ones."),
    ] = None,
    session: Annotated[
        str | None, typer.Option(metavar="ID", help="Session to report to; by default one of its own.")
    ] = None,
    url: HostUrlOption = None,
    as_json: JsonOption = False,
) -> None:
    """Create a goal, which the host plans and works on."""
    client = open_host_client(ctx.obj, url)
    row = client.create_goal(title, description=description, autonomy=autonomy, session_id=session)
    write_result(row, [f"{row['goal_id']} is {row['state']}"], as_json=as_json)


@app.command()
def pause(ctx: typer.Context, goal: GoalArgument, url: HostUrlOption = None, as_json: JsonOption = False) -> None:
    """Pause a goal until it is resumed; its running steps are stopped."""
    _write_change(open_host_client(ctx.obj, url).change_goal(goal, "pause"), as_json=as_json)


@app.command()
def resume(ctx: typer.Context, goal: GoalArgument, url: HostUrlOption = None, as_json: JsonOption = False) -> None:
    """Resume a paused goal; what it had used up it may use once more."""
    _write_change(open_host_client(ctx.obj, url).change_goal(goal, "resume"), as_json=as_json)


@app.command()
def cancel(ctx: typer.Context, goal: GoalArgument, url: HostUrlOption = None, as_json: JsonOption = False) -> None:
    """Cancel a goal for good; its running steps are stopped."""
    _write_change(open_host_client(ctx.obj, url).change_goal(goal, "cancel"), as_json=as_json)


@app.command()
def delete(ctx: typer.Context, goal: GoalArgument, yes: YesOption = False, url: HostUrlOption = None) -> None:
    """Delete a goal after confirmation, with the sessions that it works in; its running steps are stopped."""
    client = open_host_client(ctx.obj, url)
    title = to_single_line(str(client.get_goal(goal)["title"]))
    confirm(f"Delete the goal {goal}, {title!r}, with everything that it has done?", yes=yes, otherwise=NOTHING)
    client.delete_goal(goal)
    write_lines([f"The goal {goal} was deleted."])


def _write_change(row: JsonRow, *, as_json: bool) -> None:
    write_result(row, [f"{row['goal_id']} is {row['state']}"], as_json=as_json)


def _table_row(row: JsonRow) -> list[str]:
    return [row["goal_id"], row["state"], f"{row['progress']} %", row["user"], row["title"][:60], row["reason"][:60]]


def _goal_lines(row: JsonRow) -> Sequence[str]:
    lines = [
        f"goal      {row['goal_id']}",
        f"title     {row['title']}",
        f"state     {row['state']}, {row['progress']} % done",
        f"reason    {row['reason']}",
        f"autonomy  {row['autonomy']}, priority {row['priority']}",
        f"session   {row['session_id']}",
        f"next tick {_format_time(row['next_tick'])}",
        "",
    ]
    for node in row["graph"]:
        needs = f" after {', '.join(node['depends_on'])}" if node["depends_on"] else ""
        status = "waits for a person" if node["waits"] else node["status"]
        lines.append(f"{node['id']}  {status}, try {node['tries']}{needs}: {node['tool'] or node['description']}")
        detail = " ".join((node["result"] or node["error"]).split())
        lines += [f"    {detail[:SHOWN_CHARACTERS]}"] if detail else []
    lines += ["", *(f"{name:<17} {use['used']:g} of {use['limit']}" for name, use in row["spend"].items())]
    return lines


def _format_time(at: str | None) -> str:
    return at[:19].replace("T", " ") if at else "none: it waits"
