"""Operations on users of the host and their API tokens; for operators only."""

from typing import Annotated, Any

from sophon._python.value_rules import ValueRules
from sophon.errors import NotFound
from sophon.principals import LOCAL_USER, hub_user_principal
from sophon_hosting.client_api.caller import Caller
from sophon_hosting.client_api.client_errors import Forbidden
from sophon_hosting.client_api.rights import HUB_CHANNEL, SCOPES
from sophon_hosting.features.settings.change_audit import record_change
from sophon_hosting.features.tokens.results import NewToken, TokenList, TokenView, UserList, token_to_json
from sophon_hosting.features.tokens.token_creation import (
    DEFAULT_DAYS,
    MAX_DAYS,
    MAX_NAME_CHARACTERS,
    build_api_token,
    find_level,
    find_user,
)
from sophon_hosting.operations.request import Doc, NoFields, Request
from sophon_hosting.operations.table import Table
from sophon_hosting.settings.hub import HubSettings

table = Table("tokens")


class TokenToCreate(Request):
    """A token of a user; `days` null: it does not expire."""

    user: Annotated[str, ValueRules(min_length=1, max_length=200), Doc("A user of Hub.Users, whose rights it limits.")]
    scopes: Annotated[list[Annotated[str, ValueRules(max_length=50)]], ValueRules(min_length=1, max_length=20)]
    name: Annotated[str, ValueRules(max_length=MAX_NAME_CHARACTERS), Doc("What it is called in the list.")] = ""
    days: Annotated[int, ValueRules(ge=1, le=MAX_DAYS)] | None = DEFAULT_DAYS


class NamedToken(Request):
    """A token by its id."""

    token_id: Annotated[str, Doc("The id of a token; the list of tokens has it.")]


@table.operation("GET /api/users", needs="Operator")
async def list_users(caller: Caller, request: NoFields) -> UserList:
    """List the users of the settings with their levels, else the local user; and the scopes that a token may have."""
    settings = caller.settings
    named = [(user.id, hub_user_principal(user.id), user.operator) for user in settings.section(HubSettings).users]
    return {
        "items": [
            {
                "user": name,
                "principal": principal,
                "operator": is_operator,
                "level": settings.permissions.level_of(principal, channel=HUB_CHANNEL, is_operator=is_operator).label,
                "can_have_tokens": bool(settings.section(HubSettings).users),
            }
            for name, principal, is_operator in named or [(LOCAL_USER, LOCAL_USER, True)]
        ],
        "scopes": list(SCOPES),
    }


@table.operation("GET /api/tokens", needs="Operator")
async def list_tokens(caller: Caller, request: NoFields) -> TokenList:
    """List the tokens, the oldest first, without their secrets."""
    found, now = await caller.store.api_tokens.list(None), caller.now()
    return {"items": [{**token_to_json(each, now), "level": find_level(caller.settings, each)} for each in found]}


@table.operation(
    "POST /api/tokens",
    needs="Operator",
    status=201,
    ok=True,
    errors=(Forbidden,),
    example={"user": "ada", "scopes": ["Read"], "name": "dashboard", "days": 30},
)
async def create_token(caller: Caller, request: TokenToCreate) -> NewToken:
    """Create a token; the response is the only place where it is shown; recorded.

    A client that has logged in with an API token cannot: it could give itself more than that token.
    """
    if caller.user.scopes is not None:
        raise Forbidden("a token cannot make tokens; log in as the user")
    owner, now = find_user(caller.settings.section(HubSettings), request.user), caller.now()
    token, secret = build_api_token(owner, request.scopes, name=request.name, days=request.days, now=now)
    details = {
        "user": request.user,
        "scopes": list(token.scopes),
        "name": request.name,
        "expires_at": token.expires_at,
    }
    await _record(caller, token.id, "created", details)
    await caller.store.api_tokens.add(token)
    return {"token": secret, **token_to_json(token, now)}


@table.operation("DELETE /api/tokens/{token_id}", needs="Operator", ok=True, errors=(NotFound,))
async def revoke_token(caller: Caller, request: NamedToken) -> TokenView:
    """Revoke a token: it is refused from now on, and who uses it is disconnected; recorded."""
    token = await caller.store.api_tokens.revoke(request.token_id, caller.now())
    await _record(caller, token.id, "revoked", {"user": token.principal, "name": token.name})
    return token_to_json(token, caller.now())


async def _record(caller: Caller, token_id: str, outcome: str, details: dict[str, Any]) -> None:
    await record_change(
        caller.store,
        caller.clock,
        by=caller.user.id,
        what="token",
        name=token_id,
        outcome=outcome,
        details=details,
    )
