"""`/api/me`, `/api/chain` and `/api/models`: information about the host and the current user."""

from aiohttp import web

from sophon._version import __version__
from sophon.chain.order_constraints import get_middleware_name, read_order_constraints
from sophon.security.permission_levels import FEATURES
from sophon_hosting.features.host.results import ChainMiddleware, ChainView, CurrentUser, HostList, host_to_json
from sophon_hosting.features.providers.results import ProviderModelsList, provider_models_to_json
from sophon_hosting.http.json_io import get_authorized_host, get_host, json_response

routes = web.RouteTableDef()


@routes.get("/api/me")
async def get_current_user(request: web.Request) -> web.Response:
    """Return the user of the request and what the user may use, and the version of the host."""
    authorized_host = get_authorized_host(request)
    user, rights = authorized_host.user, authorized_host.rights
    current: CurrentUser = {
        "user": user.id,
        "operator": user.operator,
        "version": __version__,
        "level": rights.level.label,
        "features": [feature for feature in FEATURES if rights.allows(feature)],
        "scopes": None if rights.scopes is None else sorted(rights.scopes),
    }
    return json_response(current)


@routes.get("/api/chain")
async def get_chain(request: web.Request) -> web.Response:
    """Return the running chain, as the text of `explain()` and as data."""
    pipeline = get_host(request).chain
    middlewares: list[ChainMiddleware] = [
        {"name": get_middleware_name(each), "zone": read_order_constraints(each).zone or "any"} for each in pipeline
    ]
    chain: ChainView = {"explained": pipeline.explain(), "middlewares": middlewares}
    return json_response(chain)


@routes.get("/api/hosts")
async def list_hosts(request: web.Request) -> web.Response:
    """Return the live processes of the group, of which this may be the only one. Operators only."""
    get_authorized_host(request).require_operator()
    membership = get_host(request).membership
    own = membership.describe().id
    found = await membership.list_hosts()
    hosts: HostList = {"items": [host_to_json(each, is_this=each.id == own) for each in found]}
    return json_response(hosts)


@routes.get("/api/models")
async def list_models(request: web.Request) -> web.Response:
    """Return the providers in order of priority, with health and models; attempts and errors for operators only."""
    host, user = get_host(request), get_authorized_host(request).user
    now = host.services.clock.monotonic()
    wall_time = host.services.clock.now() if user.operator else None
    models: ProviderModelsList = {
        "items": [
            provider_models_to_json(each, each.statistics(now), wall_time) for each in host.services.gateway.providers
        ]
    }
    return json_response(models)
