"""Operations on approvals in advance: list, show, revoke. Users have their own, operators all."""

from dataclasses import replace

from sophon.stores.grants.contract import StandingGrant
from sophon_hosting.client_api.caller import Caller
from sophon_hosting.features.approvals.results import GrantList, GrantView, grant_to_json
from sophon_hosting.operations.operation import Subject
from sophon_hosting.operations.permission_check import TOKEN_ONLY
from sophon_hosting.operations.request import Everything, Request
from sophon_hosting.operations.table import Table

table = Table("approvals")


async def _find_active(caller: Caller, grant_id: str) -> StandingGrant | None:
    grant = await caller.store.grants.find(grant_id)
    return grant if grant is not None and grant.is_active(caller.now()) else None


GRANT = Subject("grant", "grant_id", _find_active, lambda grant: grant.principal)


class ListGrants(Request):
    """Approvals in advance of the user, or of all users."""

    everything: Everything = False


class NamedGrant(Request):
    """An approval in advance by its id."""

    grant_id: str


@table.operation("GET /api/grants", needs="Read")
async def list_grants(caller: Caller, request: ListGrants) -> GrantList:
    """List the approvals in advance that are neither revoked nor expired, oldest first."""
    principal = caller.owner_filter(request.everything)
    found = await caller.store.grants.list_active(caller.now(), principal=principal)
    return {"items": [_show(caller, each) for each in found]}


@table.operation("GET /api/grants/{grant_id}", needs="Read", on=GRANT)
async def get_grant(caller: Caller, request: NamedGrant, grant: StandingGrant) -> GrantView:
    """Return one approval in advance, with the calls that it covers."""
    return _show(caller, grant)


# Not the feature: one's own can be revoked at every level.
@table.operation("DELETE /api/grants/{grant_id}", needs=f"{TOKEN_ONLY}Approvals", on=GRANT, ok=True)
async def revoke_grant(caller: Caller, request: NamedGrant, grant: StandingGrant) -> GrantView:
    """Revoke an approval in advance: calls that it covers are asked about again, also in turns that run."""
    await caller.store.grants.revoke(grant.id, caller.now())
    return _show(caller, grant)


def _show(caller: Caller, grant: StandingGrant) -> GrantView:
    shown = grant if caller.view is None else caller.view.grant(grant)
    return grant_to_json(replace(shown, session_id=caller.sessions.to_client_id(shown.session_id)))
