"""The contract of the API tokens: a digest per token, never the token itself."""

from datetime import datetime
from typing import Protocol

from sophon._python.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class ApiToken:
    """A token of a user. `digest` finds it (`sophon.security.api_tokens`); `id` names it to people.

    `expires_at` None: it does not expire. A revoked token stays in the list for a while, and is never accepted again.
    """

    id: str
    digest: str
    principal: str
    name: str
    scopes: tuple[str, ...]
    created_at: datetime
    expires_at: datetime | None = None
    last_used_at: datetime | None = None
    revoked_at: datetime | None = None

    def is_valid(self, now: datetime) -> bool:
        """Return whether the token is neither revoked nor expired."""
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)


class ApiTokenStore(Protocol):
    """Repository of the API tokens."""

    async def add(self, token: ApiToken) -> None:
        """Add a token. Raises StoreError if its id or digest is taken."""
        ...

    async def find(self, digest: str) -> ApiToken | None:
        """Return the token with this digest, also a revoked or expired one."""
        ...

    async def get(self, token_id: str) -> ApiToken:
        """Return a token by its id. Raises NotFound."""
        ...

    async def list(self, principal: str | None = None) -> list[ApiToken]:
        """Return all tokens, or those of a principal, the oldest first."""
        ...

    async def record_use(self, token_id: str, at: datetime) -> None:
        """Set the time of the last use, unless a later one is known; nothing happens for an unknown token."""
        ...

    async def revoke(self, token_id: str, at: datetime) -> ApiToken:
        """Revoke a token and return it; the first revocation stays. Raises NotFound."""
        ...

    async def expire(self, before: datetime) -> int:
        """Delete the tokens that were revoked or expired before a time; return how many."""
        ...
