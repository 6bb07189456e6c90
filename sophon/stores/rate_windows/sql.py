"""SQL times of rate-limited events: a row per event and scope."""

from collections.abc import Sequence
from datetime import datetime
from functools import partial

from sqlalchemy import Connection, insert, select

from sophon.stores.rate_windows.contract import RateEvent
from sophon.stores.sql.database import Database
from sophon.stores.sql.expiry import delete_in_batches
from sophon.stores.sql.prepared_statement import PreparedStatement
from sophon.stores.sql.schema import rate_events

_INSERT = PreparedStatement(lambda _: insert(rate_events), ["scope", "at"])


class SqlRateWindowStore:
    """The rate windows of an `SqlStore`; see `RateWindowStore`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(self, events: Sequence[RateEvent]) -> None:
        """See `RateWindowStore.add`."""
        if events:
            await self._database.write(partial(add_rate_events, events=tuple(events)))

    async def load(self, scope: str, since: datetime, limit: int) -> list[datetime]:
        """See `RateWindowStore.load`."""
        newest = (
            select(rate_events.c.at)
            .where(rate_events.c.scope == scope)
            .order_by(rate_events.c.number.desc())
            .limit(max(limit, 0))
        )
        times = await self._database.read(lambda connection: list(connection.execute(newest).scalars()))
        return sorted(at for at in times if at > since)

    async def expire(self, before: datetime) -> int:
        """See `RateWindowStore.expire`. Uses a transaction per batch."""
        old = select(rate_events.c.number).where(rate_events.c.at < before).order_by(rate_events.c.at)
        return await delete_in_batches(self._database, rate_events.c.number, old)


def add_rate_events(connection: Connection, events: Sequence[RateEvent]) -> None:
    """Insert events, in the caller's transaction."""
    if events:
        _INSERT.execute_many(connection, [{"scope": each.scope, "at": each.at} for each in events])
