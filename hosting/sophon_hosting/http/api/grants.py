"""`/api/grants`: list and revoke approvals in advance; users see their own, operators all."""

from dataclasses import replace

from aiohttp import web

from sophon.errors import NotFound
from sophon_hosting.features.approvals.results import GrantList, grant_to_json
from sophon_hosting.http.json_io import (
    RequestQuery,
    get_authorized_host,
    get_host,
    get_reader,
    json_response,
    parse_query,
)


class GrantListQuery(RequestQuery):
    """Query of the list of grants; `everything` (all users') is for operators."""

    everything: bool = False


routes = web.RouteTableDef()


@routes.get("/api/grants")
async def list_grants(request: web.Request) -> web.Response:
    """List the grants that are neither revoked nor expired, oldest first."""
    query, authorized_host = parse_query(request, GrantListQuery), get_reader(request)
    services, principal = get_host(request).services, authorized_host.owner_filter(query.everything)
    to_client_id, view = authorized_host.sessions.to_client_id, authorized_host.view
    found = await services.store.grants.list_active(services.clock.now(), principal=principal)
    found = found if view is None else [view.grant(each) for each in found]
    shown: GrantList = {
        "items": [grant_to_json(replace(each, session_id=to_client_id(each.session_id))) for each in found]
    }
    return json_response(shown)


@routes.delete("/api/grants/{grant_id}")
async def revoke_grant(request: web.Request) -> web.Response:
    """Revoke a grant: calls that it covers are asked about again, also in turns that run. Raises NotFound."""
    authorized_host, services = get_authorized_host(request), get_host(request).services
    authorized_host.rights.require_scope("Approvals")  # not the feature: one's own can be revoked at every level
    grant_id, now = request.match_info["grant_id"], services.clock.now()
    grant = await services.store.grants.find(grant_id)
    if grant is None or not grant.is_active(now):
        raise NotFound("grant", grant_id)
    if grant.principal != authorized_host.user.id and not authorized_host.user.operator:
        raise NotFound("grant", grant_id)
    await services.store.grants.revoke(grant_id, now)
    session_id = authorized_host.sessions.to_client_id(grant.session_id)
    grant = grant if authorized_host.view is None else authorized_host.view.grant(grant)
    return json_response({"ok": True, **grant_to_json(replace(grant, session_id=session_id))})
