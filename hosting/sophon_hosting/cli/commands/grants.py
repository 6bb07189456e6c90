"""`sophon grants`: list approvals in advance, and revoke them."""

from collections.abc import Sequence
from typing import Annotated

import typer

from sophon.errors import NotFound
from sophon_hosting.cli.common_options import HostUrlOption, JsonOption, command_group
from sophon_hosting.cli.console.output import write_lines, write_result
from sophon_hosting.cli.operation_commands import Row
from sophon_hosting.cli.remote.host_selection import open_client
from sophon_hosting.features.approvals import grants
from sophon_hosting.features.approvals.results import GrantView
from sophon_hosting.operations.client import Client

app = command_group("List approvals in advance and revoke them.")


@app.command("list")
def list_grants(ctx: typer.Context, url: HostUrlOption = None, as_json: JsonOption = False) -> None:
    """List the approvals in advance that are neither revoked nor expired, oldest first."""
    found = _list_grants(open_client(ctx.obj, url))
    lines = [line for row in found for line in _grant_lines(row)]
    write_result(found, lines or ["Nothing is approved in advance."], as_json=as_json)


@app.command()
def revoke(
    ctx: typer.Context,
    grant: Annotated[str, typer.Argument(metavar="ID", help="The id of a grant, or a unique prefix.")],
    url: HostUrlOption = None,
) -> None:
    """Revoke an approval in advance: the calls that it covers are asked about again."""
    client = open_client(ctx.obj, url)
    ids = [row["grant_id"] for row in _list_grants(client)]
    found = [each for each in ids if each.startswith(grant) or each.removeprefix("grt_").startswith(grant)]
    if len(found) > 1 and grant not in found:
        raise NotFound("single grant", grant, found[:3])
    row = client.call(grants.revoke_grant, grant_id=found[0] if found and grant not in found else grant)
    write_lines([f"{row['grant_id']} is revoked: {row['tool']} asks again"])


def _list_grants(client: Client) -> Sequence[GrantView]:
    """Return approvals in advance, oldest first; an operator's list has those of all users."""
    return client.call(grants.list_grants, everything=client.is_operator or None)["items"]


def _grant_lines(row: Row) -> list[str]:
    everywhere = f"all conversations of {row['chat']}" if row.get("chat") else "all conversations outside of groups"
    where = everywhere if row["scope"] == "always" else f"session {row['session_id']}"
    until = str(row["expires_at"])[:10]
    who = f"{row['user']} in {where}, given by {row['granted_by']}"
    return [f"{row['grant_id']}  {who}; until {until}", *(f"  {line}" for line in str(row["covers"]).split("\n")), ""]
