"""`sophon approvals`: what waits for a person, and the decision."""

import json
from collections.abc import Mapping
from typing import Annotated, Any, cast

import typer

from sophon.approvals import Decision
from sophon.errors import InputError, NotFound
from sophon_hosting.cli.remote.reach import Reach, Row, reach
from sophon_hosting.cli.screen import write_json, write_lines
from sophon_hosting.cli.tasks import AsJson, Url

app = typer.Typer(rich_markup_mode=None, add_completion=False)

ApprovalId = Annotated[str, typer.Argument(metavar="ID", help="The id of a question, or enough of its beginning.")]
DONE = {"approve": "approved", "reject": "rejected", "edit": "approved with other arguments"}


@app.callback()
def approvals() -> None:
    """List what waits for a person, and decide it."""


@app.command("list")
def list_approvals(
    ctx: typer.Context,
    everything: Annotated[bool, typer.Option("--all", help="Those that were decided, too.")] = False,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """List the questions, the oldest first."""
    found = reach(ctx.obj, url).approvals(open_only=not everything)
    if as_json:
        write_json(list(found))
        return
    if not found:
        write_lines(["Nothing waits for a person."])
    for row in found:
        write_lines(_lines(row))


@app.command()
def approve(
    ctx: typer.Context,
    approval: ApprovalId,
    arguments: Annotated[str | None, typer.Option(metavar="JSON", help="Run it with these: all of them.")] = None,
    url: Url = None,
) -> None:
    """Let it run."""
    decision = Decision.approve() if arguments is None else Decision.edit(_object(arguments))
    _decide(reach(ctx.obj, url), approval, decision)


@app.command()
def reject(
    ctx: typer.Context,
    approval: ApprovalId,
    reason: Annotated[str, typer.Option(metavar="TEXT", help="The agent is told.")] = "",
    url: Url = None,
) -> None:
    """Do not let it run."""
    _decide(reach(ctx.obj, url), approval, Decision.reject(reason))


def _decide(host: Reach, approval: str, decision: Decision) -> None:
    row = host.decide(_whole(host, approval), decision)
    write_lines([f"{row['tool']} is {DONE[decision.verdict]}"])


def _whole(host: Reach, given: str) -> str:
    """The id of the one open question that begins so; what begins none is taken as it is."""
    ids = [str(row["approval_id"]) for row in host.approvals()]
    found = [each for each in ids if each.startswith(given) or each.removeprefix("apr_").startswith(given)]
    if len(found) > 1 and given not in found:
        raise NotFound("single approval", given, found[:3])
    return found[0] if found and given not in ids else given


def _lines(row: Row) -> list[str]:
    head = f"{row['approval_id']}  {row['risk']} risk, session {row['session_id']}"
    if row["status"] == "decided":
        head += f"; {row['decision']} by {row['decided_by'] or 'nobody'}"
    elif row["expires_at"]:
        head += f"; until {row['expires_at'][:19].replace('T', ' ')} UTC"
    return [head, *(f"  {line}" for line in str(row["preview"]).splitlines()), ""]


def _object(text: str) -> Mapping[str, Any]:
    try:
        given: object = json.loads(text)
    except ValueError as error:
        raise InputError(f"--arguments is no JSON: {error}") from error
    if not isinstance(given, dict):
        raise InputError('--arguments is a JSON object, as in {"name": "value"}')
    return cast(Mapping[str, Any], given)
