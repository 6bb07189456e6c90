"""API token: a digest per token, never the token itself."""

from datetime import datetime

from sophon._python.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class ApiToken:
    """A token of a user. `digest` finds it (`sophon.security.authorization.api_tokens`); `id` names it to people.

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
