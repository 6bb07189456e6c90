"""SQL standing grants."""

from datetime import datetime
from functools import partial
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, delete, select, update

from sophon.stores.grants.contract import StandingGrant
from sophon.stores.sql.batched_deletion import delete_in_batches
from sophon.stores.sql.dialects import build_insert
from sophon.stores.sql.repository import Repository
from sophon.stores.sql.schema import grants

_COLUMNS = [column for column in grants.c if column is not grants.c.number]


class SqlGrantStore(Repository):
    """The standing grants of an `SqlStore`; see `GrantStore`."""

    async def add(self, grant: StandingGrant) -> StandingGrant:
        """See `GrantStore.add`."""
        return await self._database.write(partial(_add, grant=grant))

    async def find(self, grant_id: str) -> StandingGrant | None:
        """See `GrantStore.find`."""
        return await self._database.read(partial(_find, grant_id=grant_id))

    async def list_active(self, now: datetime, *, principal: str | None = None) -> list[StandingGrant]:
        """See `GrantStore.list_active`."""
        where = _is_active(now)
        return await self._list(where if principal is None else where & (grants.c.principal == principal))

    async def list_for_tool(self, now: datetime, *, principal: str, tool: str) -> list[StandingGrant]:
        """See `GrantStore.list_for_tool`."""
        return await self._list(_is_active(now) & (grants.c.principal == principal) & (grants.c.tool == tool))

    async def revoke(self, grant_id: str, at: datetime) -> bool:
        """See `GrantStore.revoke`."""
        wanted = (grants.c.id == grant_id) & grants.c.revoked_at.is_(None)
        statement = update(grants).where(wanted).values(revoked_at=at)
        return await self._database.write(lambda connection: connection.execute(statement).rowcount > 0)

    async def expire(self, before: datetime) -> int:
        """See `GrantStore.expire`. Uses a transaction per batch."""
        old = select(grants.c.number).where(grants.c.expires_at < before).order_by(grants.c.number)
        return await delete_in_batches(self._database, grants.c.number, old)

    async def _list(self, where: ColumnElement[bool]) -> list[StandingGrant]:
        query = select(*_COLUMNS).where(where).order_by(grants.c.number)
        return await self._database.read(lambda connection: [_grant(row) for row in connection.execute(query)])


def delete_session_grants(connection: Connection, session_id: str) -> None:
    """Delete the grants of a session that is deleted, in the caller's transaction."""
    connection.execute(delete(grants).where(grants.c.scope == "session", grants.c.session_id == session_id))


def _is_active(now: datetime) -> ColumnElement[bool]:
    return grants.c.revoked_at.is_(None) & (grants.c.expires_at > now)


def _add(connection: Connection, grant: StandingGrant) -> StandingGrant:
    values = {column.name: getattr(grant, column.name) for column in _COLUMNS} | {"pattern": dict(grant.pattern)}
    connection.execute(build_insert(connection.dialect.name, grants).values(values).on_conflict_do_nothing())
    stored = _find(connection, grant.id)
    assert stored is not None
    return stored


def _find(connection: Connection, grant_id: str) -> StandingGrant | None:
    row = connection.execute(select(*_COLUMNS).where(grants.c.id == grant_id)).one_or_none()
    return None if row is None else _grant(row)


def _grant(row: Row[Any]) -> StandingGrant:
    return StandingGrant(**row._mapping)  # pyright: ignore[reportPrivateUsage] - SQLAlchemy's public name of it
