"""`/api/users` and `/api/tokens`: users of the host and their API tokens; for operators only."""

from typing import Annotated, Any

from aiohttp import web

from sophon._python.value_rules import ValueRules
from sophon.principals import LOCAL_USER, hub_user_principal
from sophon_hosting.client_api.authorized_host import AuthorizedHost
from sophon_hosting.client_api.client_errors import Forbidden
from sophon_hosting.client_api.rights import HUB_CHANNEL, SCOPES
from sophon_hosting.client_api.token_administration import (
    DEFAULT_DAYS,
    MAX_DAYS,
    MAX_NAME_CHARACTERS,
    build_api_token,
    find_level,
    find_user,
)
from sophon_hosting.features.tokens.results import ListedToken, NewToken, TokenList, UserList, UserView, token_to_json
from sophon_hosting.http.json_io import RequestBody, get_operator, json_response, parse_body
from sophon_hosting.live_settings.change_audit import record_change


class TokenBody(RequestBody):
    """Body of a new token; `days` null: it does not expire."""

    user: Annotated[str, ValueRules(min_length=1, max_length=200)]
    scopes: Annotated[list[Annotated[str, ValueRules(max_length=50)]], ValueRules(min_length=1, max_length=20)]
    name: Annotated[str, ValueRules(max_length=MAX_NAME_CHARACTERS)] = ""
    days: Annotated[int, ValueRules(ge=1, le=MAX_DAYS)] | None = DEFAULT_DAYS


routes = web.RouteTableDef()


@routes.get("/api/users")
async def list_users(request: web.Request) -> web.Response:
    """List the users of the settings with their levels, else the local user; and the scopes that tokens may have."""
    settings = get_operator(request).host.services.settings
    named = [(user.id, hub_user_principal(user.id), user.operator) for user in settings.hub.users]
    items: list[UserView] = [
        {
            "user": name,
            "principal": principal,
            "operator": is_operator,
            "level": settings.permissions.level_of(principal, channel=HUB_CHANNEL, is_operator=is_operator).label,
            "can_have_tokens": bool(settings.hub.users),
        }
        for name, principal, is_operator in named or [(LOCAL_USER, LOCAL_USER, True)]
    ]
    users: UserList = {"items": items, "scopes": list(SCOPES)}
    return json_response(users)


@routes.get("/api/tokens")
async def list_tokens(request: web.Request) -> web.Response:
    """List the tokens, the oldest first, without their secrets."""
    operator = get_operator(request)
    settings, now = operator.host.services.settings, operator.now()
    found = await operator.store.api_tokens.list(None)
    items: list[ListedToken] = [{**token_to_json(each, now), "level": find_level(settings, each)} for each in found]
    tokens: TokenList = {"items": items}
    return json_response(tokens)


@routes.post("/api/tokens")
async def create_token(request: web.Request) -> web.Response:
    """Create a token; the response is the only place where it is shown; recorded.

    A client that has logged in with a token cannot: it could give itself more than that token. Raises Forbidden,
    InputError.
    """
    body, operator = await parse_body(request, TokenBody), get_operator(request)
    if operator.user.scopes is not None:
        raise Forbidden("a token cannot make tokens; log in as the user")
    owner = find_user(operator.host.services.settings.hub, body.user)
    token, secret = build_api_token(owner, body.scopes, name=body.name, days=body.days, now=operator.now())
    details = {"user": body.user, "scopes": list(token.scopes), "name": body.name, "expires_at": token.expires_at}
    await _record(operator, token.id, "created", details)
    await operator.store.api_tokens.add(token)
    created: NewToken = {"token": secret, **token_to_json(token, operator.now())}
    return json_response({"ok": True, **created}, 201, {"Cache-Control": "no-store"})


@routes.delete("/api/tokens/{token_id}")
async def revoke_token(request: web.Request) -> web.Response:
    """Revoke a token: it is refused from now on; recorded. Raises NotFound."""
    operator = get_operator(request)
    token = await operator.store.api_tokens.revoke(request.match_info["token_id"], operator.now())
    await _record(operator, token.id, "revoked", {"user": token.principal, "name": token.name})
    return json_response({"ok": True, **token_to_json(token, operator.now())})


async def _record(operator: AuthorizedHost, token_id: str, outcome: str, details: dict[str, Any]) -> None:
    services = operator.host.services
    await record_change(
        services.store,
        services.clock,
        by=operator.user.id,
        what="token",
        name=token_id,
        outcome=outcome,
        details=details,
    )
