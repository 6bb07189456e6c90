"""Results of tokens: the users of the host, and their API tokens."""

from datetime import datetime
from typing import Literal

from sophon._python.lazy_typed_dict import TypedDict
from sophon.security.authorization.permission_levels import LevelLabel
from sophon_hosting.features.iso_time import to_iso
from sophon_hosting.features.tokens.token_creation import TokenStatus, describe_status
from sophon_hosting.store.api_tokens.api_token import ApiToken


class UserView(TypedDict):
    """A user of the settings with the permission level."""

    user: str
    principal: str
    operator: bool
    level: LevelLabel
    can_have_tokens: bool


class UserList(TypedDict):
    """The users, and the scopes that tokens may have."""

    items: list[UserView]
    scopes: list[str]


class TokenView(TypedDict):
    """An API token, without its secret and its digest."""

    id: str
    user: str
    name: str
    scopes: list[str]
    status: TokenStatus
    created_at: str
    expires_at: str | None
    last_used_at: str | None
    revoked_at: str | None


class ListedToken(TokenView):
    """A token with the level that its user has now; `none` for a user who is not in the settings."""

    level: LevelLabel | Literal["none"]


class TokenList(TypedDict):
    """The tokens, the oldest first."""

    items: list[ListedToken]


class NewToken(TokenView):
    """A new token with its secret, which nobody can read afterwards."""

    token: str


def token_to_json(token: ApiToken, now: datetime) -> TokenView:
    """Return a token as JSON, without its digest."""
    return {
        "id": token.id,
        "user": token.principal,
        "name": token.name,
        "scopes": list(token.scopes),
        "status": describe_status(token, now),
        "created_at": token.created_at.isoformat(),
        "expires_at": to_iso(token.expires_at),
        "last_used_at": to_iso(token.last_used_at),
        "revoked_at": to_iso(token.revoked_at),
    }
