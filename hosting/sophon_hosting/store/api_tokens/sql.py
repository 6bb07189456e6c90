"""SQL API tokens."""

from collections.abc import Mapping
from datetime import datetime
from functools import partial
from typing import Any

from sqlalchemy import Connection, RowMapping, bindparam, delete, insert, or_, select, update

from sophon.errors import NotFound
from sophon.stores.sql.batched_deletion import delete_in_batches
from sophon.stores.sql.prepared_statement import PreparedStatement
from sophon.stores.sql.repository import matching
from sophon.stores.sql.store_part import StorePart
from sophon_hosting.store.api_tokens.api_token import ApiToken
from sophon_hosting.store.api_tokens.tables import api_tokens

_FIELDS = list(api_tokens.c)
# Runs for every request with such a token.
_FIND = PreparedStatement(lambda _: select(*_FIELDS).where(api_tokens.c.digest == bindparam("wanted")))


class ApiTokenStore(StorePart):
    """Repository of the API tokens."""

    tables = (api_tokens,)

    @classmethod
    def forget_person(cls, connection: Connection, person: str) -> Mapping[str, int]:
        """See `StorePart.forget_person`."""
        return {"tokens": connection.execute(delete(api_tokens).where(api_tokens.c.principal == person)).rowcount}

    async def add(self, token: ApiToken) -> None:
        """Add a token. Raises StoreError if its id or digest is taken."""
        values = {column.name: getattr(token, column.name) for column in _FIELDS}
        row = {**values, "scopes": list(token.scopes)}
        await self._database.write(lambda connection: connection.execute(insert(api_tokens).values(row)))

    async def find(self, digest: str) -> ApiToken | None:
        """Return the token with this digest, also a revoked or expired one."""
        return await self._database.read(partial(_find, digest=digest))

    async def get(self, token_id: str) -> ApiToken:
        """Return a token by its id. Raises NotFound."""
        return await self._database.read(partial(_get, token_id=token_id))

    async def list(self, principal: str | None = None) -> list[ApiToken]:
        """Return all tokens, or those of a principal, the oldest first."""
        query = select(*_FIELDS).where(*matching({api_tokens.c.principal: principal}))
        query = query.order_by(api_tokens.c.created_at, api_tokens.c.id)
        return await self._database.read(
            lambda connection: [_token(row) for row in connection.execute(query).mappings()]
        )

    async def record_use(self, token_id: str, at: datetime) -> None:
        """Set the time of the last use, unless a later one is known; nothing happens for an unknown token."""
        column = api_tokens.c.last_used_at
        statement = update(api_tokens).where(api_tokens.c.id == token_id, or_(column.is_(None), column < at))
        await self._database.write(lambda connection: connection.execute(statement.values(last_used_at=at)))

    async def revoke(self, token_id: str, at: datetime) -> ApiToken:
        """Revoke a token and return it; the first revocation stays. Raises NotFound."""
        return await self._database.write(partial(_revoke, token_id=token_id, at=at))

    async def expire(self, before: datetime) -> int:
        """Delete the tokens that were revoked or expired before a time; return how many.

        Uses a transaction per batch.
        """
        is_old = or_(api_tokens.c.revoked_at < before, api_tokens.c.expires_at < before)
        return await delete_in_batches(self._database, api_tokens.c.id, select(api_tokens.c.id).where(is_old))


def _find(connection: Connection, digest: str) -> ApiToken | None:
    found = _FIND.fetch_row(connection, {"wanted": digest})
    return _token(dict(zip((column.name for column in _FIELDS), found, strict=True))) if found is not None else None


def _get(connection: Connection, token_id: str) -> ApiToken:
    row = connection.execute(select(*_FIELDS).where(api_tokens.c.id == token_id)).mappings().one_or_none()
    if row is None:
        raise NotFound("token", token_id)
    return _token(row)


def _revoke(connection: Connection, token_id: str, at: datetime) -> ApiToken:
    which = (api_tokens.c.id == token_id) & api_tokens.c.revoked_at.is_(None)
    connection.execute(update(api_tokens).where(which).values(revoked_at=at))
    return _get(connection, token_id)


def _token(row: Mapping[str, Any] | RowMapping) -> ApiToken:
    fields: dict[str, Any] = {**row}
    fields["scopes"] = tuple(fields["scopes"])
    return ApiToken(**fields)
