"""`sophon tokens`: create, list and revoke API tokens of the users of `Hub.Users`. A host may run."""

from datetime import datetime
from typing import Annotated

import typer

from sophon.clock import SystemClock
from sophon.principals import hub_user_principal
from sophon.stores.api_tokens.contract import ApiToken
from sophon_hosting.cli.bootstrap import load_cli_settings, run_with_store
from sophon_hosting.cli.common_options import JsonOption, command_group
from sophon_hosting.cli.console.output import write_json, write_lines, write_notice, write_rows
from sophon_hosting.client_api.rights import SCOPES
from sophon_hosting.client_api.token_administration import (
    DEFAULT_DAYS,
    MAX_DAYS,
    build_api_token,
    describe_status,
    find_level,
    find_user,
)
from sophon_hosting.features.tokens.results import token_to_json

app = command_group("Create, list and revoke API tokens of the users of Hub.Users.")


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
    owner = find_user(load_cli_settings(ctx.obj).hub, user)
    now = SystemClock().now()
    token, secret = build_api_token(owner, scope, name=name, days=None if never_expires else days, now=now)
    run_with_store(ctx.obj, lambda store: store.api_tokens.add(token))
    if as_json:
        write_json({"token": secret, **token_to_json(token, now)})
        return
    write_lines([secret])
    until = "does not expire" if token.expires_at is None else f"expires on {token.expires_at:%Y-%m-%d}"
    write_notice(f"token {token.id} of {owner.id}, {until}; it is not shown again")


@app.command("list")
def list_tokens(
    ctx: typer.Context,
    user: Annotated[str | None, typer.Option(metavar="USER", help="Those of this user.")] = None,
    as_json: JsonOption = False,
) -> None:
    """List the tokens, the oldest first, with the user's level, expiry and last use; not the tokens themselves."""
    principal = None if user is None else hub_user_principal(user)
    settings = load_cli_settings(ctx.obj)
    found = run_with_store(ctx.obj, lambda store: store.api_tokens.list(principal))
    now = SystemClock().now()
    header = ("id", "user", "level", "name", "scopes", "status", "expires", "last use (UTC)")
    shown = [{**token_to_json(each, now), "level": find_level(settings, each)} for each in found]
    rows = [_row(each, find_level(settings, each), now) for each in found]
    write_rows(shown, header, rows, "There are no tokens.", as_json=as_json)


@app.command()
def revoke(
    ctx: typer.Context, token_id: Annotated[str, typer.Argument(metavar="ID", help="The id of a token, from `list`.")]
) -> None:
    """Revoke a token: a running host refuses it at once, and disconnects who uses it."""
    now = SystemClock().now()
    token = run_with_store(ctx.obj, lambda store: store.api_tokens.revoke(token_id, now))
    write_lines([f"token {token.id} of {token.principal} is revoked"])


def _row(token: ApiToken, level: str, now: datetime) -> list[str]:
    expires = f"{token.expires_at:%Y-%m-%d}" if token.expires_at is not None else "never"
    used = f"{token.last_used_at:%Y-%m-%d %H:%M}" if token.last_used_at is not None else "never"
    return [
        token.id,
        token.principal,
        level,
        token.name,
        " ".join(token.scopes),
        describe_status(token, now),
        expires,
        used,
    ]
