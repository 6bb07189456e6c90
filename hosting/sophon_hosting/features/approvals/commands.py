"""`sophon approvals`: list pending approvals, show one completely, approve and reject them."""

import json
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Annotated, Any, cast, get_args

import typer

from sophon.approvals import GrantScope, format_argument_lines
from sophon.builtin_tools.questions import choose_answer
from sophon.errors import InputError
from sophon_hosting.cli.common_options import HostUrlOption, command_group
from sophon_hosting.cli.console.id_prefix import complete_id
from sophon_hosting.cli.console.output import write_lines
from sophon_hosting.cli.operation_commands import Row, list_command, show_command
from sophon_hosting.cli.remote.host_selection import open_client
from sophon_hosting.features.approvals import operations as approvals
from sophon_hosting.features.approvals.results import ApprovalView
from sophon_hosting.operations.client import Client
from sophon_hosting.rendering.value_formatting import format_time

app = command_group("List pending approvals and decide them.")

ApprovalArgument = Annotated[str, typer.Argument(metavar="ID", help="The id of an approval, or a unique prefix.")]
AllOption = Annotated[bool, typer.Option("--pending/--all", help="The pending ones, or decided ones too.")]
ReasonOption = Annotated[str | None, typer.Option(metavar="TEXT", help="Reason that the model receives.")]
SessionOption = Annotated[
    str | None, typer.Option("--session", metavar="ID", help="Decide only if the approval is of this session.")
]
DECISION_TEXTS = {
    "approve": "approved",
    "reject": "rejected",
    "edit": "approved with edited arguments",
    "answer": "answered",
}


def approval_lines(row: Row, *, complete: bool = False) -> list[str]:
    """Return an approval in lines: what is asked, and the decision or until when it waits for one."""
    head = f"{row['approval_id']}  {row['risk']} risk, session {row['session_id']}"
    if row["status"] == "decided":
        head += f"; {row['decision']} by {row['decided_by'] or 'nobody'}"
    elif row["expires_at"]:
        head += f"; until {format_time(row['expires_at'])} UTC"
    shortened = bool(row.get("full_preview"))
    text = str(row["full_preview"] if shortened and complete else row["preview"])
    hint = [f"  (sophon approvals show {row['approval_id']}  shows everything)"] if shortened and not complete else []
    lines = [*text.split("\n"), *_edited_lines(row)]
    return [head, *(f"  {line}" for line in lines), *hint, *_grant_lines(row), ""]


def _edited_lines(row: Row) -> list[str]:
    """Return the arguments with which an edited call ran, one line each; none if it was not edited."""
    edited: Mapping[str, Any] | None = row.get("edited_arguments")
    return ["It runs with edited arguments:", *format_argument_lines(edited)] if edited is not None else []


def _grant_lines(row: Row) -> list[str]:
    """Return what an approval in advance of an open request would cover."""
    offer = str(row.get("grant_offer") or "")
    if row["status"] == "decided" or not offer:
        return []
    return [f"  --grant session|always would also approve {offer}".replace("\n", "\n  ")]


def decision_lines(row: Row) -> list[str]:
    """Return what was decided about a call."""
    return [f"{row['tool']} is {DECISION_TEXTS[row['decision']]}"]


def _list_approvals(client: Client, *, open_only: bool = True) -> Sequence[ApprovalView]:
    """Return approvals, oldest first; an operator's list has those of all users."""
    everything = client.is_operator or None
    return client.call(approvals.list_approvals, open_only=open_only, everything=everything)["items"]


def _find_id(client: Client, given: str, *, open_only: bool = True) -> str:
    """Return the id of the only pending approval with this prefix; without a match return `given` unchanged."""
    found = _list_approvals(client, open_only=open_only)
    return complete_id((row["approval_id"] for row in found), given, "approval")


list_command(
    app,
    approvals.list_approvals,
    approval_lines,
    "There are no pending approvals.",
    options={"open_only": AllOption, "session_id": None},
    summary="List the pending approvals, oldest first.",
)


show_command(
    app,
    approvals.get_approval,
    partial(approval_lines, complete=True),
    find_id=partial(_find_id, open_only=False),
    options={"approval_id": ApprovalArgument},
    summary="Show one approval completely: its arguments, however long, edited ones, and the guard that asks.",
)


@app.command()
def approve(
    ctx: typer.Context,
    approval: ApprovalArgument,
    arguments: Annotated[str | None, typer.Option(metavar="JSON", help="Replace all arguments with these.")] = None,
    grant: Annotated[
        str | None, typer.Option(metavar="SCOPE", help="Approve later calls like it too: session or always.")
    ] = None,
    session: SessionOption = None,
    url: HostUrlOption = None,
) -> None:
    """Approve a tool call or a plan."""
    if grant is not None and arguments is not None:
        raise InputError("--grant approves later calls like this one, so its arguments cannot be changed")
    scopes = get_args(GrantScope)
    if grant is not None and grant not in scopes:
        raise InputError(f"--grant {grant!r} is none of {', '.join(scopes)}")
    if arguments is None:
        _decide(open_client(ctx.obj, url), approval, session, decision="approve", grant=grant)
    else:
        given = _parse_arguments(arguments)
        _decide(open_client(ctx.obj, url), approval, session, decision="edit", arguments=given)


show_command(
    app,
    approvals.decide_approval,
    decision_lines,
    name="reject",
    find_id=_find_id,
    fixed={"decision": "reject"},
    options={"approval_id": ApprovalArgument, "reason": ReasonOption, "session_id": SessionOption},
    summary="Reject a tool call or a plan.",
)


@app.command()
def answer(
    ctx: typer.Context,
    approval: ApprovalArgument,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The answer, or the number of a choice.")],
    session: SessionOption = None,
    url: HostUrlOption = None,
) -> None:
    """Answer a question of the agent."""
    client = open_client(ctx.obj, url)
    approval_id = _find_id(client, approval)
    asked = next((row for row in _list_approvals(client) if row["approval_id"] == approval_id), None)
    given = text if asked is None else choose_answer(asked["arguments"], text)
    _decide(client, approval_id, session, decision="answer", reason=given)


def _decide(client: Client, approval: str, session: str | None, *, decision: str, **fields: Any) -> None:
    approval_id = _find_id(client, approval)
    fields |= {"approval_id": approval_id, "session_id": session, "decision": decision}
    row = client.call(approvals.decide_approval, **fields)
    write_lines(decision_lines(row))


def _parse_arguments(text: str) -> Mapping[str, Any]:
    try:
        arguments: object = json.loads(text)
    except ValueError as error:
        raise InputError(f"--arguments is not valid JSON: {error}") from error
    if not isinstance(arguments, dict):
        raise InputError('--arguments must be a JSON object, as in {"name": "value"}')
    return cast(Mapping[str, Any], arguments)
