"""Authentication of network clients: tokens of the settings, API tokens of the store, JSON Web Tokens of issuers."""

from contextlib import suppress
from dataclasses import replace
from datetime import timedelta

from sophon.clock import Clock
from sophon.errors import NotFound, StoreError
from sophon.principals import hub_user_principal
from sophon.security.authorization.api_tokens import API_TOKEN_PREFIX, digest_api_token
from sophon_hosting.client_api.authentication.token_authentication import TokenAuthenticator, User
from sophon_hosting.client_api.rights import OPERATOR_SCOPE, expand_scopes
from sophon_hosting.store.api_tokens.api_token import ApiToken
from sophon_hosting.store.contract import HostStore

USE_INTERVAL = timedelta(minutes=1)
"""Least time between two records of the last use of a token: not every request is a write."""


class ClientAuthenticator:
    """Finds the user of a token, and says whether a log-in of earlier still holds.

    `access` knows the users of the settings. An API token is one of theirs: a token whose user is not in the settings
    any more is unknown, and it gives no right that its user lacks. Nothing is cached, so a revocation holds at once.
    """

    def __init__(self, access: TokenAuthenticator, store: HostStore, clock: Clock) -> None:
        self._access, self._store, self._clock = access, store, clock

    async def authenticate(self, token: str | None) -> User:
        """Return the user of a token. Raises Unauthorized, StoreUnavailable."""
        if token and token.startswith(API_TOKEN_PREFIX) and not self._access.allows_anonymous:
            found = await self._store.api_tokens.find(digest_api_token(token))
            if found is not None and (user := self._find_user(found)) is not None:
                await self._record_use(found)
                return user
        if token and (user := self._verify_jwt(token)) is not None:
            return user
        return self._access.authenticate(token)

    async def is_still_valid(self, user: User) -> bool:
        """Return whether a user who was authenticated earlier would be so now. Raises StoreUnavailable."""
        now = self._clock.now()
        if user.expires_at is not None and now >= user.expires_at:
            return False
        if not user.token_id:
            return True
        try:
            return (await self._store.api_tokens.get(user.token_id)).is_valid(now)
        except NotFound:
            return False

    def _find_user(self, token: ApiToken) -> User | None:
        """Return the user of a valid token, with no more rights than the user of the settings and the scopes have."""
        owner = self._access.find_user(token.principal)
        if owner is None or not token.is_valid(self._clock.now()):
            return None
        scopes = expand_scopes(token.scopes)
        is_operator = owner.operator and OPERATOR_SCOPE in scopes
        return User(owner.id, is_operator, scopes, token.id, token.expires_at)

    def _verify_jwt(self, token: str) -> User | None:
        """Return the user of the settings whom an issuer vouches for; one that is not there is nobody."""
        verified = self._access.issuers.verify(token, self._clock.now()) if self._access.issuers else None
        user = self._access.find_user(hub_user_principal(verified.subject)) if verified else None
        return replace(user, expires_at=verified.expires_at) if user and verified else None

    async def _record_use(self, token: ApiToken) -> None:
        now = self._clock.now()
        if token.last_used_at is None or now - token.last_used_at >= USE_INTERVAL:
            with suppress(StoreError):  # a request that only reads must not fail because the store cannot be written
                await self._store.api_tokens.record_use(token.id, now)
