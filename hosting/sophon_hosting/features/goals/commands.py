"""`sophon goals`: list, show, create and delete goals; pause, resume and cancel them."""

from collections.abc import Sequence
from typing import Annotated

import typer

from sophon_hosting.cli.common_options import command_group
from sophon_hosting.cli.operation_commands import Row, delete_command, list_command, sentence_formatter, show_command
from sophon_hosting.features.goals import operations as goals
from sophon_hosting.operations.client import Client
from sophon_hosting.rendering.control_characters import to_single_line
from sophon_hosting.rendering.value_formatting import format_time

app = command_group("List, show, create and delete goals; pause, resume and cancel them.")

SHOWN_CHARACTERS = 200
IS_NOW = "{goal_id} is {state}"
DESCRIPTION = Annotated[
    str, typer.Option("--description", "-d", metavar="TEXT", help="What is to be reached; by default the title.")
]

list_command(
    app,
    goals.list_goals,
    {
        "goal": "goal_id",
        "state": "state",
        "done#": lambda row: f"{row['progress']} %",
        "user": "user",
        "title": lambda row: row["title"][:60],
        "reason": lambda row: row["reason"][:60],
    },
    "There are no goals.",
    defaults={"limit": 50},
)


def goal_lines(row: Row) -> Sequence[str]:
    """Return a goal in lines: its steps, what it has used of each limit, and when the host looks at it next."""
    lines = [
        f"goal      {row['goal_id']}",
        f"title     {row['title']}",
        f"state     {row['state']}, {row['progress']} % done",
        f"reason    {row['reason']}",
        f"autonomy  {row['autonomy']}, priority {row['priority']}",
        f"session   {row['session_id']}",
        f"next tick {format_time(row['next_tick']) or 'none: it waits'}",
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


def _ask(client: Client, fields: Row) -> str:
    title = to_single_line(str(client.call(goals.get_goal, goal_id=fields["goal_id"])["title"]))
    return f"Delete the goal {fields['goal_id']}, {title!r}, with everything that it has done?"


show_command(
    app,
    goals.get_goal,
    goal_lines,
    summary="Show a goal: its steps, what it has used of each limit, and when the host looks at it next.",
)
show_command(
    app,
    goals.create_goal,
    sentence_formatter(IS_NOW),
    name="create",
    arguments=("title",),
    options={"description": DESCRIPTION},
)
show_command(app, goals.pause_goal, sentence_formatter(IS_NOW), name="pause")
show_command(app, goals.resume_goal, sentence_formatter(IS_NOW), name="resume")
show_command(app, goals.cancel_goal, sentence_formatter(IS_NOW), name="cancel")
delete_command(app, goals.delete_goal, _ask, sentence_formatter("The goal {goal_id} was deleted."))
