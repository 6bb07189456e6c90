"""SQL times of rate-limited events: a row per event and scope."""

from collections.abc import Sequence
from datetime import datetime
from functools import partial

from sqlalchemy import Connection, Select, delete, insert, select

from sophon.clock import Clock
from sophon.security.sliding_windows import RateExceeded, RateLimit
from sophon.stores.rate_windows.contract import RateEvent
from sophon.stores.rate_windows.window_rules import check_window
from sophon.stores.sql.batched_deletion import delete_in_batches
from sophon.stores.sql.prepared_statement import PreparedStatement
from sophon.stores.sql.repository import Repository
from sophon.stores.sql.schema import rate_events
from sophon.stores.sql.server_time import read_server_time
from sophon.stores.unit_of_work import WriteKind

_INSERT = PreparedStatement(lambda _: insert(rate_events), ["scope", "at"])


class SqlRateWindowStore(Repository):
    """The rate windows of an `SqlStore`; see `RateWindowStore`."""

    async def reserve(self, limits: Sequence[RateLimit]) -> list[int] | RateExceeded:
        """See `RateWindowStore.reserve`."""
        return await self._database.write(partial(_reserve, limits=tuple(limits), clock=self._clock))

    async def cancel(self, numbers: Sequence[int]) -> None:
        """See `RateWindowStore.cancel`."""
        cancelled = delete(rate_events).where(rate_events.c.number.in_(numbers))
        if numbers:
            await self._database.write(lambda connection: connection.execute(cancelled))

    async def add(self, events: Sequence[RateEvent]) -> None:
        """See `RateWindowStore.add`."""
        if events:
            await self._database.add(WriteKind.RATE, partial(add_rate_events, events=tuple(events)))

    async def load(self, scope: str, since: datetime, limit: int) -> list[datetime]:
        """See `RateWindowStore.load`."""
        newest = _select_newest(scope, limit)
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


def _select_newest(scope: str, limit: int) -> Select[datetime]:
    return (
        select(rate_events.c.at)
        .where(rate_events.c.scope == scope)
        .order_by(rate_events.c.number.desc())
        .limit(max(limit, 0))
    )


def _reserve(connection: Connection, limits: Sequence[RateLimit], clock: Clock) -> list[int] | RateExceeded:
    now = read_server_time(connection, clock)
    for limit in limits:
        newest = list(connection.execute(_select_newest(limit.scope, limit.count)).scalars())
        if (exceeded := check_window(limit, newest, now)) is not None:
            return exceeded
    numbers: list[int] = []
    for limit in limits:
        key = connection.execute(insert(rate_events), {"scope": limit.scope, "at": now}).inserted_primary_key
        assert key is not None
        numbers.append(key[0])
    return numbers
