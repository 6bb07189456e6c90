"""In-memory API tokens."""

from dataclasses import replace
from datetime import datetime

from sophon.errors import NotFound, StoreError
from sophon.stores.api_tokens.contract import ApiToken


class InMemoryApiTokenStore:
    """The API tokens of an `InMemoryStore`; see `ApiTokenStore`."""

    def __init__(self) -> None:
        self._tokens: dict[str, ApiToken] = {}

    async def add(self, token: ApiToken) -> None:
        """See `ApiTokenStore.add`."""
        if any(each.id == token.id or each.digest == token.digest for each in self._tokens.values()):
            raise StoreError("memory://", "there is a token with this id or digest")
        self._tokens[token.id] = token

    async def find(self, digest: str) -> ApiToken | None:
        """See `ApiTokenStore.find`."""
        return next((each for each in self._tokens.values() if each.digest == digest), None)

    async def get(self, token_id: str) -> ApiToken:
        """See `ApiTokenStore.get`."""
        if token_id not in self._tokens:
            raise NotFound("token", token_id)
        return self._tokens[token_id]

    async def list(self, principal: str | None = None) -> list[ApiToken]:
        """See `ApiTokenStore.list`."""
        found = [each for each in self._tokens.values() if principal is None or each.principal == principal]
        return sorted(found, key=lambda each: (each.created_at, each.id))

    async def record_use(self, token_id: str, at: datetime) -> None:
        """See `ApiTokenStore.record_use`."""
        token = self._tokens.get(token_id)
        if token is not None and (token.last_used_at is None or token.last_used_at < at):
            self._tokens[token_id] = replace(token, last_used_at=at)

    async def revoke(self, token_id: str, at: datetime) -> ApiToken:
        """See `ApiTokenStore.revoke`."""
        token = await self.get(token_id)
        self._tokens[token_id] = replace(token, revoked_at=token.revoked_at or at)
        return self._tokens[token_id]

    async def expire(self, before: datetime) -> int:
        """See `ApiTokenStore.expire`."""
        old = [
            token_id
            for token_id, each in self._tokens.items()
            if any(at is not None and at < before for at in (each.revoked_at, each.expires_at))
        ]
        for token_id in old:
            del self._tokens[token_id]
        return len(old)

    def forget_person(self, person: str) -> int:
        """Delete the tokens of a person; return how many."""
        kept = {token_id: each for token_id, each in self._tokens.items() if each.principal != person}
        self._tokens, before = kept, len(self._tokens)
        return before - len(kept)
