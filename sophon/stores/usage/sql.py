"""SQL usage store: a row per attempt, and running totals that reservations are compared with."""

import asyncio
import secrets
from collections.abc import Sequence
from functools import partial

from sqlalchemy import ColumnElement, Connection, func, insert, select

from sophon.clock import Clock
from sophon.messages import Usage
from sophon.stores.sql.batched_deletion import delete_in_batches, recheck_and_delete_in_batches
from sophon.stores.sql.dialects import build_insert
from sophon.stores.sql.prepared_statement import PreparedStatement
from sophon.stores.sql.repository import Repository, matching
from sophon.stores.sql.schema import attempts, budget_alerts, reservations, spending
from sophon.stores.usage.contract import (
    PayerLimits,
    PayerSpending,
    Period,
    ProviderLimits,
    Reservation,
    Spending,
    UsageRow,
    UsageTotal,
    payer_account,
)
from sophon.stores.usage.sql_reservations import (
    add_payer_cost,
    add_spending,
    close_reservation,
    release_reservation,
    release_stale_reservations,
    try_reserve,
)

_ROW_COLUMNS = ("provider", "model", "purpose", "session_id", "run_id", "at", "calls")
_INSERT_ATTEMPT = PreparedStatement(
    lambda _: insert(attempts), [column.name for column in attempts.c if column is not attempts.c.number]
)
_INSERT_ALERT = PreparedStatement(lambda dialect: build_insert(dialect, budget_alerts).on_conflict_do_nothing())


class SqlUsageStore(Repository):
    """The usage and budget reservations of an `SqlStore`; see `UsageStore`. Reservations hold across processes."""

    async def reserve(
        self,
        provider: str,
        period: Period,
        worst_case: Usage,
        limits: ProviderLimits,
        payer: PayerLimits | None = None,
        task: PayerLimits | None = None,
    ) -> Reservation | Spending | PayerSpending:
        """See `UsageStore.reserve`. A cancelled call leaves nothing reserved."""
        wanted = Reservation(
            f"rsv_{secrets.token_hex(10)}",
            provider,
            period,
            worst_case.total_tokens,
            worst_case.cost_micros,
            payer.payer if payer is not None else "",
            task.payer if task is not None else "",
        )
        try:
            return await self._database.write(
                partial(_reserve, wanted=wanted, limits=limits, payers=(payer, task), clock=self._clock)
            )
        except asyncio.CancelledError:
            # The reservation is or will be written; its release is queued behind it.
            await self.release(wanted)
            raise

    async def settle(self, reservation: Reservation | None, row: UsageRow) -> Spending:
        """See `UsageStore.settle`."""
        return await self._database.write(partial(_settle, reservation=reservation, row=row))

    async def record(self, rows: Sequence[UsageRow]) -> None:
        """See `UsageStore.record`."""
        if rows:
            await self._database.write(partial(record_usage, rows=rows))

    async def release(self, reservation: Reservation) -> None:
        """See `UsageStore.release`."""
        await self._database.write(partial(release_reservation, reservation=reservation))

    async def get_spending(self, provider: str, period: Period) -> Spending:
        """See `UsageStore.get_spending`."""
        return await self._database.read(partial(_spent, provider=provider, period=period))

    async def get_reserved(self, provider: str, period: Period) -> Spending:
        """See `UsageStore.get_reserved`."""
        return await self._database.read(partial(_reserved, provider=provider, period=period))

    async def get_payer_spending(self, payer: str, period: Period, *, is_task_type: bool = False) -> PayerSpending:
        """See `UsageStore.get_payer_spending`."""
        read = partial(_payer_spent, payer=payer, period=period, is_task_type=is_task_type)
        return await self._database.read(read)

    async def get_payer_reserved(self, payer: str, period: Period, *, is_task_type: bool = False) -> PayerSpending:
        """See `UsageStore.get_payer_reserved`."""
        read = partial(_payer_reserved, payer=payer, period=period, is_task_type=is_task_type)
        return await self._database.read(read)

    async def mark_alerted(self, provider: str, period: str, name: str) -> bool:
        """See `UsageStore.mark_alerted`."""
        alert = {"provider": provider, "period": period, "name": name}
        return await self._database.write(lambda connection: _INSERT_ALERT.execute(connection, alert)) > 0

    async def reserved(self) -> int:
        """See `UsageStore.reserved`."""
        query = select(func.coalesce(func.sum(reservations.c.tokens), 0))
        return int(await self._database.read(lambda connection: connection.execute(query).scalar_one()))

    async def list_totals(self, *, since: str = "", session_id: str | None = None) -> list[UsageTotal]:
        """See `UsageStore.list_totals`."""
        return await self._database.read(partial(_totals, since=since, session_id=session_id))

    async def expire(self, before: str) -> int:
        """See `UsageStore.expire`. Uses a transaction per batch."""
        old = select(attempts.c.number).where(attempts.c.day < before).order_by(attempts.c.day)
        return await delete_in_batches(self._database, attempts.c.number, old)

    async def expire_accounts(self, before: str) -> int:
        """See `UsageStore.expire_accounts`. Uses a transaction per batch."""
        # `2026-01` is before each day of that month.
        sums = select(spending.c.provider, spending.c.period).where(spending.c.period < before)
        alerts = select(*budget_alerts.primary_key).where(budget_alerts.c.period < before)
        return sum([await recheck_and_delete_in_batches(self._database, each) for each in (sums, alerts)])


def _reserve(
    connection: Connection,
    wanted: Reservation,
    limits: ProviderLimits,
    payers: Sequence[PayerLimits | None],
    clock: Clock,
) -> Reservation | Spending | PayerSpending:
    named = [each for each in payers if each is not None]
    refusal = try_reserve(connection, wanted, limits, named, clock)
    if refusal is not None and release_stale_reservations(connection, clock):
        refusal = try_reserve(connection, wanted, limits, named, clock)
    if refusal is None:
        return wanted
    if isinstance(refusal, PayerLimits):
        return _payer_spent(connection, refusal.payer, wanted.period, is_task_type=refusal.is_task_type)
    return _spent(connection, wanted.provider, wanted.period)


def record_usage(connection: Connection, rows: Sequence[UsageRow]) -> None:
    """Record usage that nothing was reserved for, in the caller's transaction."""
    for row in rows:
        _settle(connection, None, row)


def _settle(connection: Connection, reservation: Reservation | None, row: UsageRow) -> Spending:
    usage, period = row.usage, row.period
    tokens, micros = close_reservation(connection, reservation.id) if reservation is not None else (0, 0)
    if reservation is not None and (reservation.provider, reservation.period) != (row.provider, period):
        add_spending(connection, reservation.provider, reservation.period, -tokens, -micros)
        add_payer_cost(connection, reservation, -micros)
        tokens = micros = 0
    facts = {name: getattr(row, name) for name in _ROW_COLUMNS}
    _INSERT_ATTEMPT.execute(connection, {**facts, "day": period.day, "month": period.month, **usage.to_json()})
    if reservation is not None:
        add_payer_cost(connection, reservation, usage.cost_micros - micros)
    return add_spending(connection, row.provider, period, usage.total_tokens - tokens, usage.cost_micros - micros)


def _spent(connection: Connection, provider: str, period: Period) -> Spending:
    query = select(spending.c.period, spending.c.amount).where(
        spending.c.provider == provider, spending.c.period.in_((period.day, period.month))
    )
    amounts = {row.period: row.amount for row in connection.execute(query)}
    return Spending(amounts.get(period.day, 0), amounts.get(period.month, 0))


def _reserved(connection: Connection, provider: str, period: Period) -> Spending:
    mine = select(reservations).where(reservations.c.provider == provider)
    rows = connection.execute(mine).all()
    return Spending(
        sum(row.tokens for row in rows if row.day == period.day),
        sum(row.micros for row in rows if row.month == period.month),
    )


def _payer_spent(connection: Connection, payer: str, period: Period, *, is_task_type: bool) -> PayerSpending:
    found = _spent(connection, payer_account(payer, is_task_type=is_task_type), period)
    return PayerSpending(found.tokens, found.micros, is_task_type)


def _payer_reserved(connection: Connection, payer: str, period: Period, *, is_task_type: bool) -> PayerSpending:
    whose = reservations.c.task_type if is_task_type else reservations.c.payer
    rows = connection.execute(select(reservations).where(whose == payer)).all()
    return PayerSpending(
        sum(row.micros for row in rows if row.day == period.day),
        sum(row.micros for row in rows if row.month == period.month),
        is_task_type,
    )


def _totals(connection: Connection, since: str, session_id: str | None) -> list[UsageTotal]:
    key = (attempts.c.day, attempts.c.provider, attempts.c.model)
    sums = [_sum_of(attempts.c[name]) for name in Usage().to_json()]
    query = select(*key, func.sum(attempts.c.calls).label("calls"), *sums).group_by(*key)
    wanted = query.where(attempts.c.day >= since, *matching({attempts.c.session_id: session_id}))
    found = [
        UsageTotal(row.day, row.provider, row.model, int(row.calls), Usage(*(int(sum_) for sum_ in row[4:])))
        for row in connection.execute(wanted)
    ]
    # Sorted in Python: collations differ between databases.
    return sorted(found, key=lambda total: (total.day, total.provider, total.model))


def _sum_of(column: ColumnElement[int]) -> ColumnElement[int]:
    return func.sum(column)
