"""Callers of every kind, each logged in by a token of the settings or of the store."""

from collections.abc import Collection

from sophon.security.authorization.api_tokens import digest_api_token, generate_api_token
from sophon_hosting.client_api.authentication.client_authentication import ClientAuthenticator
from sophon_hosting.client_api.authentication.token_authentication import TokenAuthenticator
from sophon_hosting.client_api.caller import Caller
from sophon_hosting.settings.hub import HubSettings
from sophon_hosting.store.api_tokens.api_token import ApiToken
from tests.hosting.http.api_shapes.served import Served

TOKENS = {name.upper(): f"token-of-{name}" for name in ("ada", "bob", "zoe", "olga")}
"""Ada and Bob are users, Zoe is one whom nobody trusts, Olga is an operator."""

PERMISSIONS = {"Permissions": {"Users": {"zoe": {"Level": "ZeroTrust"}}, "Levels": {"ZeroTrust": {"Tools": ["pay"]}}}}
"""Zoe may call a tool, so that she has an approval."""


class Callers:
    """Log-ins of the users of a host."""

    def __init__(self, served: Served) -> None:
        self._served = served
        services = served.services
        access = TokenAuthenticator.from_settings(services.settings.section(HubSettings), TOKENS)
        self._clients = ClientAuthenticator(access, services.store, services.clock)
        self._tokens: dict[tuple[str, frozenset[str]], str] = {}

    async def open(self, user: str, scopes: Collection[str] | None = None) -> Caller:
        """Return a caller with the user's own token, or with an API token of these scopes."""
        found = await self._clients.authenticate(await self.find_token(user, scopes))
        return Caller(self._served.server.host, found)

    async def find_token(self, user: str, scopes: Collection[str] | None = None) -> str:
        """Return the user's own token, or an API token of these scopes, which is stored if there is none yet."""
        if scopes is None:
            return f"token-of-{user}"
        key, services = (user, frozenset(scopes)), self._served.services
        if key not in self._tokens:
            self._tokens[key] = generate_api_token()
            digest, now = digest_api_token(self._tokens[key]), services.clock.now()
            await services.store.api_tokens.add(
                ApiToken(f"token{len(self._tokens)}", digest, user, "", tuple(sorted(scopes)), now)
            )
        return self._tokens[key]
