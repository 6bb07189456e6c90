"""`sophon grants`: list approvals in advance, and revoke them."""

from typing import Annotated

import typer

from sophon.errors import NotFound
from sophon_hosting.cli.common_options import HostUrlOption, JsonOption, command_group
from sophon_hosting.cli.console.output import write_lines, write_result
from sophon_hosting.cli.remote.host_client import JsonRow
from sophon_hosting.cli.remote.host_selection import open_host_client

app = command_group("List approvals in advance and revoke them.")


@app.command("list")
def list_grants(ctx: typer.Context, url: HostUrlOption = None, as_json: JsonOption = False) -> None:
    """List the approvals in advance that are neither revoked nor expired, oldest first."""
    found = open_host_client(ctx.obj, url).list_grants()
    lines = [line for row in found for line in _grant_lines(row)]
    write_result(list(found), lines or ["Nothing is approved in advance."], as_json=as_json)


@app.command()
def revoke(
    ctx: typer.Context,
    grant: Annotated[str, typer.Argument(metavar="ID", help="The id of a grant, or a unique prefix.")],
    url: HostUrlOption = None,
) -> None:
    """Revoke an approval in advance: the calls that it covers are asked about again."""
    host = open_host_client(ctx.obj, url)
    ids = [str(row["grant_id"]) for row in host.list_grants()]
    found = [each for each in ids if each.startswith(grant) or each.removeprefix("grt_").startswith(grant)]
    if len(found) > 1 and grant not in found:
        raise NotFound("single grant", grant, found[:3])
    row = host.revoke_grant(found[0] if found and grant not in found else grant)
    write_lines([f"{row['grant_id']} is revoked: {row['tool']} asks again"])


def _grant_lines(row: JsonRow) -> list[str]:
    everywhere = f"all conversations of {row['chat']}" if row.get("chat") else "all conversations outside of groups"
    where = everywhere if row["scope"] == "always" else f"session {row['session_id']}"
    until = str(row["expires_at"])[:10]
    who = f"{row['user']} in {where}, given by {row['granted_by']}"
    return [f"{row['grant_id']}  {who}; until {until}", *(f"  {line}" for line in str(row["covers"]).split("\n")), ""]
