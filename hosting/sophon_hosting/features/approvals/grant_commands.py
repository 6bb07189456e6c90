"""`sophon grants`: list, show and revoke approvals in advance."""

from collections.abc import Sequence
from typing import Annotated

import typer

from sophon_hosting.cli.common_options import command_group
from sophon_hosting.cli.console.id_prefix import complete_id
from sophon_hosting.cli.operation_commands import Row, list_command, sentence_formatter, show_command
from sophon_hosting.features.approvals import grant_operations as grants
from sophon_hosting.operations.client import Client

app = command_group("List, show and revoke approvals in advance.")

GrantArgument = Annotated[str, typer.Argument(metavar="ID", help="The id of a grant, or a unique prefix.")]


def grant_lines(row: Row) -> Sequence[str]:
    """Return an approval in advance in lines: who gave it, where it holds, and which calls it covers."""
    everywhere = f"all conversations of {row['chat']}" if row.get("chat") else "all conversations outside of groups"
    where = everywhere if row["scope"] == "always" else f"session {row['session_id']}"
    until = str(row["expires_at"])[:10]
    who = f"{row['user']} in {where}, given by {row['granted_by']}"
    return [f"{row['grant_id']}  {who}; until {until}", *(f"  {line}" for line in str(row["covers"]).split("\n")), ""]


def _find_id(client: Client, given: str) -> str:
    found = client.call(grants.list_grants, everything=client.is_operator or None)["items"]
    return complete_id((row["grant_id"] for row in found), given, "grant")


list_command(app, grants.list_grants, grant_lines, "Nothing is approved in advance.")
show_command(
    app,
    grants.get_grant,
    grant_lines,
    find_id=_find_id,
    options={"grant_id": GrantArgument},
    summary="Show an approval in advance, with the calls that it covers.",
)
show_command(
    app,
    grants.revoke_grant,
    sentence_formatter("{grant_id} is revoked: {tool} asks again"),
    name="revoke",
    find_id=_find_id,
    options={"grant_id": GrantArgument},
)
