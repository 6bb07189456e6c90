"""`/api/users` and `/api/tokens`: users of the host and their API tokens; for operators only."""

from typing import Annotated

from aiohttp import web

from sophon.value_rules import ValueRules
from sophon_hosting.client_api.rights import SCOPES
from sophon_hosting.client_api.token_administration import (
    DEFAULT_DAYS,
    MAX_DAYS,
    MAX_NAME_CHARACTERS,
    find_level,
    token_to_json,
)
from sophon_hosting.http.json_io import RequestBody, get_authorized_host, get_host, json_response, parse_body


class TokenBody(RequestBody):
    """Body of a new token; `days` null: it does not expire."""

    user: Annotated[str, ValueRules(min_length=1, max_length=200)]
    scopes: Annotated[list[Annotated[str, ValueRules(max_length=50)]], ValueRules(min_length=1, max_length=20)]
    name: Annotated[str, ValueRules(max_length=MAX_NAME_CHARACTERS)] = ""
    days: Annotated[int, ValueRules(ge=1, le=MAX_DAYS)] | None = DEFAULT_DAYS


def token_routes() -> list[web.RouteDef]:
    """Return the routes of this module; all require an operator."""
    return [
        web.get("/api/users", list_users),
        web.get("/api/tokens", list_tokens),
        web.post("/api/tokens", create_token),
        web.delete("/api/tokens/{token_id}", revoke_token),
    ]


async def list_users(request: web.Request) -> web.Response:
    """List the users with level and rights, and the scopes that their tokens may have."""
    return json_response({"items": get_authorized_host(request).tokens.list_users(), "scopes": SCOPES})


async def list_tokens(request: web.Request) -> web.Response:
    """List the tokens, the oldest first, without their secrets."""
    host, settings = get_authorized_host(request), get_host(request).services.settings
    now = host.now()
    rows = [{**token_to_json(each, now), "level": find_level(settings, each)} for each in await host.tokens.list()]
    return json_response({"items": rows})


async def create_token(request: web.Request) -> web.Response:
    """Create a token; the response is the only place where it is shown."""
    body, host = await parse_body(request, TokenBody), get_authorized_host(request)
    token, secret = await host.tokens.create(body.user, body.scopes, name=body.name, days=body.days)
    row = {"ok": True, "token": secret, **token_to_json(token, host.now())}
    return json_response(row, 201, {"Cache-Control": "no-store"})


async def revoke_token(request: web.Request) -> web.Response:
    """Revoke a token. Raises NotFound."""
    host = get_authorized_host(request)
    token = await host.tokens.revoke(request.match_info["token_id"])
    return json_response({"ok": True, **token_to_json(token, host.now())})
