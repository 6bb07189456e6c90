"""Users of the host and their API tokens, for operators."""

import builtins
from typing import Any

from sophon.principals import LOCAL_USER, hub_user_principal
from sophon.stores.api_tokens.contract import ApiToken
from sophon_hosting.client_api.client_errors import Forbidden
from sophon_hosting.client_api.rights import HUB_CHANNEL
from sophon_hosting.client_api.token_administration import build_api_token, find_user
from sophon_hosting.client_api.user_access import UserAccess
from sophon_hosting.live_settings.change_audit import record_change


class Tokens:
    """Users and tokens, each operation with its permission check."""

    def __init__(self, access: UserAccess) -> None:
        self._access = access

    def list_users(self) -> builtins.list[dict[str, Any]]:
        """Return the users of the settings with their levels; without `Hub.Users` the local user. Operators only."""
        self._access.require_operator()
        settings = self._access.host.services.settings
        named = [(user.id, hub_user_principal(user.id), user.operator) for user in settings.hub.users]
        return [
            {
                "user": name,
                "principal": principal,
                "operator": is_operator,
                "level": settings.permissions.level_of(principal, channel=HUB_CHANNEL, is_operator=is_operator).label,
                "can_have_tokens": bool(settings.hub.users),
            }
            for name, principal, is_operator in named or [(LOCAL_USER, LOCAL_USER, True)]
        ]

    async def list(self) -> builtins.list[ApiToken]:
        """Return all tokens, the oldest first, without their secrets. Operators only. Raises Forbidden."""
        self._access.require_operator()
        return await self._access.store.api_tokens.list(None)

    async def create(
        self, user: str, scopes: builtins.list[str], *, name: str, days: int | None
    ) -> tuple[ApiToken, str]:
        """Create a token; return it with its secret, which is shown this once. Operators only; recorded.

        A client that has logged in with a token cannot: it could give itself more than that token. Raises Forbidden,
        InputError.
        """
        self._access.require_operator()
        if self._access.user.scopes is not None:
            raise Forbidden("a token cannot make tokens; log in as the user")
        host = self._access.host
        owner = find_user(host.services.settings.hub, user)
        token, secret = build_api_token(owner, scopes, name=name, days=days, now=self._access.now())
        details = {"user": user, "scopes": list(token.scopes), "name": name, "expires_at": token.expires_at}
        await self._record(token.id, "created", details)
        await host.services.store.api_tokens.add(token)
        return token, secret

    async def revoke(self, token_id: str) -> ApiToken:
        """Revoke a token: it is refused from now on. Operators only; recorded. Raises Forbidden, NotFound."""
        self._access.require_operator()
        token = await self._access.store.api_tokens.revoke(token_id, self._access.now())
        await self._record(token.id, "revoked", {"user": token.principal, "name": token.name})
        return token

    async def _record(self, token_id: str, outcome: str, details: dict[str, Any]) -> None:
        access = self._access
        await record_change(
            access.host.services.store,
            access.host.services.clock,
            by=access.user.id,
            what="token",
            name=token_id,
            outcome=outcome,
            details=details,
        )
