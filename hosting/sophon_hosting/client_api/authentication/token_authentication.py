"""Token authentication of network clients; without `Hub.Users` every client is the local user."""

import hmac
from collections.abc import Mapping
from datetime import datetime
from typing import Self

from sophon._python.lazy_dataclass import dataclass
from sophon.errors import SettingsError, SophonError
from sophon.principals import LOCAL_USER, hub_user_principal
from sophon_hosting.client_api.authentication.jwt_verification import JwtVerifier, load_issuers
from sophon_hosting.settings.hub import HubSettings

MIN_TOKEN_CHARACTERS = 8
"""Minimum token length in characters; shorter tokens can be guessed."""


class Unauthorized(SophonError):
    """Error: the token is missing or unknown (code `unauthorized`)."""

    code = "unauthorized"

    def __init__(self, token_given: bool) -> None:
        self.token_given = token_given
        super().__init__(
            "the token is unknown; see Hub.Users in the settings"
            if token_given
            else "a token is required; see Hub.Users in the settings"
        )


@dataclass(frozen=True, slots=True)
class User:
    """Authenticated user; `id` is the principal. An operator may watch all sessions and decide all approvals.

    `scopes` are those of an API token; None: everything that the user may do. `token_id` names that token, and
    `expires_at` is the time until which the log-in is valid; see `ClientAuthenticator.is_still_valid`.
    """

    id: str
    operator: bool = False
    scopes: frozenset[str] | None = None
    token_id: str = ""
    expires_at: datetime | None = None

    @property
    def can_end(self) -> bool:
        """Whether the log-in can end while the user is connected."""
        return bool(self.token_id) or self.expires_at is not None


def find_operators(hub: HubSettings) -> frozenset[str]:
    """Return the principals of the operators in the settings; without `Hub.Users` it is the local user."""
    if not hub.users:
        return frozenset((LOCAL_USER,))
    return frozenset(hub_user_principal(user.id) for user in hub.users if user.operator)


class TokenAuthenticator:
    """Mapping from tokens to users. If it is empty, every client is the local user, who is an operator."""

    def __init__(self, users: Mapping[str, User], issuers: JwtVerifier | None = None) -> None:
        self.issuers = issuers
        self._users = {token.encode(): user for token, user in users.items()}

    @classmethod
    def from_settings(cls, hub: HubSettings, environment: Mapping[str, str]) -> Self:
        """Return the authenticator for `Hub.Users` and `Hub.Issuers`.

        Raises SettingsError for a token that is missing, too short, or used twice, and for a key that is none.
        """
        users: dict[str, User] = {}
        problems: list[str] = []
        for index, entry in enumerate(hub.users):
            path = f"Hub.Users[{index}]"
            token = entry.token.resolve(environment) or ""
            if not token:
                problems.append(f"{path}.Token: the {entry.token.source_description} is missing or empty")
            elif len(token) < MIN_TOKEN_CHARACTERS:
                problems.append(
                    f"{path}.Token: it has {len(token)} characters; at least {MIN_TOKEN_CHARACTERS} are required"
                )
            elif token in users:
                problems.append(f"{path}.Token: user {users[token].id} has the same token")
            users.setdefault(token, User(hub_user_principal(entry.id), entry.operator))
        if problems:
            raise SettingsError(problems)
        return cls(users, load_issuers(hub.issuers, environment))

    @property
    def allows_anonymous(self) -> bool:
        """Whether requests need no token."""
        return not self._users

    @property
    def operator_ids(self) -> frozenset[str]:
        """Ids of the users who may watch and decide in all sessions."""
        return (
            frozenset(user.id for user in self._users.values() if user.operator)
            if self._users
            else frozenset((LOCAL_USER,))
        )

    def find_user(self, principal: str) -> User | None:
        """Return the user of the settings who is this principal."""
        return next((user for user in self._users.values() if user.id == principal), None)

    def authenticate(self, token: str | None) -> User:
        """Return the user who owns the token. Raises Unauthorized."""
        if not self._users:
            return User(LOCAL_USER, operator=True)
        if token:
            encoded_token = token.encode("utf-8", "surrogatepass")
            # Compare with every token, each in constant time, so that the duration reveals nothing.
            matches = [user for known, user in self._users.items() if hmac.compare_digest(known, encoded_token)]
            if matches:
                return matches[0]
        raise Unauthorized(bool(token))
