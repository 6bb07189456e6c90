"""`sophon tokens`: create, list and revoke API tokens of the users of `Hub.Users`, in the store. A host may run."""

from typing import Annotated

import typer

from sophon.principals import hub_user_principal
from sophon_hosting.cli.common_options import JsonOption, command_group
from sophon_hosting.cli.console.output import write_json, write_lines, write_notice, write_rows
from sophon_hosting.cli.remote.host_selection import open_store_client
from sophon_hosting.client_api.rights import SCOPES
from sophon_hosting.features.tokens.operations import TokenToCreate, create_token, list_tokens, revoke_token
from sophon_hosting.features.tokens.results import ListedToken
from sophon_hosting.features.tokens.token_creation import DEFAULT_DAYS, MAX_DAYS

app = command_group("Create, list and revoke API tokens of the users of Hub.Users.")

HEADER = ("id", "user", "level", "name", "scopes", "status", "expires", "last use (UTC)")


@app.command()
def create(
    ctx: typer.Context,
    user: Annotated[str, typer.Argument(metavar="USER", help="A user of Hub.Users, whose rights the token limits.")],
    scope: Annotated[
        list[str], typer.Option(metavar="SCOPE", help=f"What it is for, repeatable: {', '.join(SCOPES)}.")
    ],
    name: Annotated[str, typer.Option(metavar="TEXT", help="What it is called in the list.")] = "",
    days: Annotated[int, typer.Option(min=1, max=MAX_DAYS, metavar="N", help="Days until it expires.")] = DEFAULT_DAYS,
    never_expires: Annotated[bool, typer.Option("--never-expires", help="It is valid until it is revoked.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Create a token and print it, this once: the store has only its digest."""
    given = {"user": user, "scopes": scope, "name": name, "days": None if never_expires else days}
    created = open_store_client(ctx.obj).send(create_token, TokenToCreate.validate(given))
    if as_json:
        write_json({name: value for name, value in created.items() if name != "ok"})
        return
    write_lines([created["token"]])
    expires = created["expires_at"]
    until = "does not expire" if expires is None else f"expires on {expires[:10]}"
    write_notice(f"token {created['id']} of {user}, {until}; it is not shown again")


@app.command("list")
def show_tokens(
    ctx: typer.Context,
    user: Annotated[str | None, typer.Option(metavar="USER", help="Those of this user.")] = None,
    as_json: JsonOption = False,
) -> None:
    """List the tokens, the oldest first, with the user's level, expiry and last use; not the tokens themselves."""
    principal = None if user is None else hub_user_principal(user)
    items = open_store_client(ctx.obj).call(list_tokens)["items"]
    found = [each for each in items if principal in (None, each["user"])]
    write_rows(found, HEADER, map(_row, found), "There are no tokens.", as_json=as_json)


@app.command()
def revoke(
    ctx: typer.Context, token_id: Annotated[str, typer.Argument(metavar="ID", help="The id of a token, from `list`.")]
) -> None:
    """Revoke a token: a running host refuses it at once, and disconnects who uses it."""
    token = open_store_client(ctx.obj).call(revoke_token, token_id=token_id)
    write_lines([f"token {token['id']} of {token['user']} is revoked"])


def _row(token: ListedToken) -> list[str]:
    return [
        token["id"],
        token["user"],
        token["level"],
        token["name"],
        " ".join(token["scopes"]),
        token["status"],
        (token["expires_at"] or "never")[:10],
        (token["last_used_at"] or "never")[:16].replace("T", " "),
    ]
