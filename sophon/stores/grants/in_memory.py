"""In-memory standing grants."""

from dataclasses import replace
from datetime import datetime

from sophon.stores.grants.contract import StandingGrant


class InMemoryGrantStore:
    """The standing grants of an `InMemoryStore`; see `GrantStore`."""

    def __init__(self) -> None:
        self._grants: dict[str, StandingGrant] = {}

    async def add(self, grant: StandingGrant) -> StandingGrant:
        """See `GrantStore.add`."""
        return self._grants.setdefault(grant.id, grant)

    async def find(self, grant_id: str) -> StandingGrant | None:
        """See `GrantStore.find`."""
        return self._grants.get(grant_id)

    async def list_active(self, now: datetime, *, principal: str | None = None) -> list[StandingGrant]:
        """See `GrantStore.list_active`."""
        return [each for each in self._grants.values() if each.is_active(now) and principal in (None, each.principal)]

    async def list_for_tool(self, now: datetime, *, principal: str, tool: str) -> list[StandingGrant]:
        """See `GrantStore.list_for_tool`."""
        return [each for each in await self.list_active(now, principal=principal) if each.tool == tool]

    async def revoke(self, grant_id: str, at: datetime) -> bool:
        """See `GrantStore.revoke`."""
        grant = self._grants.get(grant_id)
        if grant is None or grant.revoked_at is not None:
            return False
        self._grants[grant_id] = replace(grant, revoked_at=at)
        return True

    async def expire(self, before: datetime) -> int:
        """See `GrantStore.expire`."""
        kept = {grant_id: each for grant_id, each in self._grants.items() if each.expires_at >= before}
        deleted = len(self._grants) - len(kept)
        self._grants = kept
        return deleted

    def forget_session(self, session_id: str) -> None:
        """Delete the grants of a session that is deleted."""
        self._grants = {
            grant_id: each
            for grant_id, each in self._grants.items()
            if each.scope == "always" or each.session_id != session_id
        }
