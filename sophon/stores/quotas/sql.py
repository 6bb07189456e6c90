"""SQL quotas: a row per use."""

from datetime import datetime
from functools import partial

from sqlalchemy import Connection, delete, func, insert, select

from sophon.stores.sql.database import Database
from sophon.stores.sql.expiry import delete_in_batches
from sophon.stores.sql.schema import quota_uses


class SqlQuotaStore:
    """The quotas of an `SqlStore`; see `QuotaStore`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def take(self, quota: str, *, at: datetime, since: datetime, limit: int) -> bool:
        """See `QuotaStore.take`."""
        return await self._database.write(partial(_take, quota=quota, at=at, since=since, limit=limit))

    async def count(self, quota: str, *, since: datetime) -> int:
        """See `QuotaStore.count`."""
        return await self._database.read(partial(_count, quota=quota, since=since))

    async def expire(self, before: datetime) -> int:
        """See `QuotaStore.expire`. Uses a transaction per batch."""
        old = select(quota_uses.c.number).where(quota_uses.c.at < before).order_by(quota_uses.c.number)
        return await delete_in_batches(self._database, quota_uses.c.number, old)


def _take(connection: Connection, quota: str, at: datetime, since: datetime, limit: int) -> bool:
    connection.execute(delete(quota_uses).where(quota_uses.c.quota == quota, quota_uses.c.at < since))
    is_free = _count(connection, quota, since) < limit
    if is_free:
        connection.execute(insert(quota_uses).values(quota=quota, at=at))
    return is_free


def _count(connection: Connection, quota: str, since: datetime) -> int:
    counted = select(func.count()).where(quota_uses.c.quota == quota, quota_uses.c.at >= since)
    return int(connection.execute(counted).scalar_one())
