"""The contract of the standing grants: approvals in advance of later calls of a tool that fit a pattern."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Protocol

from sophon._python.lazy_dataclass import dataclass
from sophon.approvals import GrantScope


@dataclass(frozen=True, slots=True)
class StandingGrant:
    """Approval in advance: calls of `tool` in turns of `principal` that fit `pattern` run without a question.

    `id` is derived from the approval that it was given with, so that storing it twice stores one. `session_id` is
    empty for the scope `always`. `chat` is the principal of the group it was given in, whose turns alone it covers;
    empty outside of groups, and then it covers no group. `description` is the pattern as the person saw it. Times are
    in UTC.
    """

    id: str
    scope: GrantScope
    principal: str
    session_id: str
    tool: str
    risk: str
    pattern: Mapping[str, Any]
    description: str
    granted_by: str
    granted_at: datetime
    expires_at: datetime
    revoked_at: datetime | None = None
    chat: str = ""

    def is_active(self, now: datetime) -> bool:
        """Return whether it is neither revoked nor expired."""
        return self.revoked_at is None and now < self.expires_at

    def covers(self, session_id: str, chat: str) -> bool:
        """Return whether it is for turns of this session; `chat` is the group that reads them, "" for none."""
        return self.chat == chat and (self.scope == "always" or self.session_id == session_id)


class GrantStore(Protocol):
    """Repository of the standing grants. A revoked grant stays until it expires, and cannot be given again."""

    async def add(self, grant: StandingGrant) -> StandingGrant:
        """Store a grant; one with a known id stays as it is. Return the stored one."""
        ...

    async def find(self, grant_id: str) -> StandingGrant | None:
        """Return a grant, whatever became of it; None if it does not exist."""
        ...

    async def list_active(self, now: datetime, *, principal: str | None = None) -> list[StandingGrant]:
        """Return the grants that are neither revoked nor expired, oldest first: of one principal, or of all."""
        ...

    async def list_for_tool(self, now: datetime, *, principal: str, tool: str) -> list[StandingGrant]:
        """Return the active grants of a principal for a tool, oldest first."""
        ...

    async def revoke(self, grant_id: str, at: datetime) -> bool:
        """Revoke a grant; return whether it was active, also if it had expired."""
        ...

    async def expire(self, before: datetime) -> int:
        """Delete the grants that expired before a time; return how many."""
        ...
