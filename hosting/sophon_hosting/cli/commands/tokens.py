"""`sophon tokens`: create, list and revoke API tokens of the users of `Hub.Users`. A host may run."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Annotated, Any

import typer

from sophon.clock import SystemClock
from sophon.errors import InputError
from sophon.principals import hub_user_principal
from sophon.security.api_tokens import digest_api_token, generate_api_token, generate_token_id
from sophon.settings import HubSettings, HubUserSettings, Settings
from sophon.stores.api_tokens.contract import ApiToken
from sophon_hosting.cli.bootstrap import load_cli_settings, run_with_store
from sophon_hosting.cli.common_options import JsonOption
from sophon_hosting.cli.console.output import write_json, write_lines, write_notice, write_table
from sophon_hosting.client_api.authentication import find_operators
from sophon_hosting.client_api.rights import HUB_CHANNEL, OPERATOR_SCOPE, SCOPES

DEFAULT_DAYS = 90
MAX_DAYS = 3650
MAX_NAME_CHARACTERS = 100

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.callback()
def tokens() -> None:
    """Create, list and revoke API tokens of the users of Hub.Users."""


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
    if len(name) > MAX_NAME_CHARACTERS:
        raise InputError(f"--name has {len(name)} characters; {MAX_NAME_CHARACTERS} are allowed")
    now, secret = SystemClock().now(), generate_api_token()
    token = ApiToken(
        id=generate_token_id(),
        digest=digest_api_token(secret),
        principal=hub_user_principal(owner.id),
        name=name,
        scopes=parse_scopes(scope, is_operator=owner.operator),
        created_at=now,
        expires_at=None if never_expires else now + timedelta(days=days),
    )
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
    if as_json:
        write_json([{**token_to_json(each, now), "level": find_level(settings, each)} for each in found])
    elif not found:
        write_lines(["There are no tokens."])
    else:
        write_table(
            ("id", "user", "level", "name", "scopes", "status", "expires", "last use (UTC)"),
            [_row(each, find_level(settings, each), now) for each in found],
        )


@app.command()
def revoke(
    ctx: typer.Context, token_id: Annotated[str, typer.Argument(metavar="ID", help="The id of a token, from `list`.")]
) -> None:
    """Revoke a token: a running host refuses it at once, and disconnects who uses it."""
    now = SystemClock().now()
    token = run_with_store(ctx.obj, lambda store: store.api_tokens.revoke(token_id, now))
    write_lines([f"token {token.id} of {token.principal} is revoked"])


def find_user(hub: HubSettings, user_id: str) -> HubUserSettings:
    """Return a user of the settings. Raises InputError."""
    for user in hub.users:
        if user.id == user_id:
            return user
    if not hub.users:
        raise InputError("there are no Hub.Users: every client is an operator, whom a token would not limit")
    raise InputError(f"{user_id!r} is none of Hub.Users: {', '.join(user.id for user in hub.users)}")


def parse_scopes(given: Sequence[str], *, is_operator: bool) -> tuple[str, ...]:
    """Return the scopes of a token in their order, whatever their case. Raises InputError."""
    by_name = {scope.casefold(): scope for scope in SCOPES}
    for each in given:
        if each.casefold() not in by_name:
            raise InputError(f"--scope {each!r} is none of {', '.join(SCOPES)}")
    found = {by_name[each.casefold()] for each in given}
    if OPERATOR_SCOPE in found and not is_operator:
        raise InputError(f"--scope {OPERATOR_SCOPE}: the user is no operator, and a token gives no right")
    return tuple(scope for scope in SCOPES if scope in found)


def describe_status(token: ApiToken, now: datetime) -> str:
    """Return `valid`, `expired` or `revoked`."""
    return "revoked" if token.revoked_at is not None else "valid" if token.is_valid(now) else "expired"


def token_to_json(token: ApiToken, now: datetime) -> dict[str, Any]:
    """Return a token for `--json`, without its digest."""
    times = {name: getattr(token, name) for name in ("created_at", "expires_at", "last_used_at", "revoked_at")}
    return {
        "id": token.id,
        "user": token.principal,
        "name": token.name,
        "scopes": list(token.scopes),
        "status": describe_status(token, now),
        **{name: at.isoformat() if at is not None else None for name, at in times.items()},
    }


def find_level(settings: Settings, token: ApiToken) -> str:
    """Return the permission level that the token's user has now; "none" for a user who is not in the settings."""
    if all(hub_user_principal(user.id) != token.principal for user in settings.hub.users):
        return "none"
    is_operator = token.principal in find_operators(settings.hub)
    return settings.permissions.level_of(token.principal, channel=HUB_CHANNEL, is_operator=is_operator).label


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
