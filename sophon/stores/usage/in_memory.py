"""In-memory usage store. Keeps sums only, so its size does not grow with the number of calls."""

import itertools
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from sophon.messages import Usage
from sophon.stores.usage.contract import (
    PayerLimits,
    PayerSpending,
    Period,
    ProviderLimits,
    Reservation,
    Spending,
    UsageRow,
    UsageTotal,
    list_accounts,
    payer_account,
)

_TotalKey: TypeAlias = tuple[str, str, str]
"""Day, provider, model."""

_UsageSums: TypeAlias = list[int]
"""Calls, input tokens, output tokens, micro-USD, cached input tokens, tokens of unknown price."""


class InMemoryUsageStore:
    """The usage and budget reservations of an `InMemoryStore`; see `UsageStore`."""

    def __init__(self) -> None:
        self._tokens: defaultdict[tuple[str, str], int] = defaultdict(int)
        self._micros: defaultdict[tuple[str, str], int] = defaultdict(int)
        self._payer_micros: defaultdict[tuple[str, str], int] = defaultdict(int)
        self._open: dict[str, Reservation] = {}
        self._alerts: set[tuple[str, str, str]] = set()
        self._ids = itertools.count(1)
        self._totals: dict[_TotalKey, _UsageSums] = {}
        self._by_session: defaultdict[str, dict[_TotalKey, _UsageSums]] = defaultdict(dict)

    async def reserve(
        self,
        provider: str,
        period: Period,
        worst_case: Usage,
        limits: ProviderLimits,
        payer: PayerLimits | None = None,
        task: PayerLimits | None = None,
    ) -> Reservation | Spending | PayerSpending:
        """See `UsageStore.reserve`."""
        day, month = (provider, period.day), (provider, period.month)
        claimed = worst_case.input_tokens + worst_case.output_tokens
        tokens = self._tokens.get(day, 0) + claimed
        micros = self._micros.get(month, 0) + worst_case.cost_micros
        if _exceeds(tokens, limits.daily_tokens) or _exceeds(micros, limits.monthly_micros):
            return Spending(tokens - claimed, micros - worst_case.cost_micros)
        for limited in (payer, task):
            if limited is None:
                continue
            spent = self._payer_spending(limited.payer, period, is_task_type=limited.is_task_type)
            if _exceeds(spent.daily_micros + worst_case.cost_micros, limited.daily_micros) or _exceeds(
                spent.monthly_micros + worst_case.cost_micros, limited.monthly_micros
            ):
                return spent
        self._tokens[day], self._micros[month] = tokens, micros
        reservation = Reservation(
            f"rsv_{next(self._ids)}",
            provider,
            period,
            claimed,
            worst_case.cost_micros,
            payer.payer if payer is not None else "",
            task.payer if task is not None else "",
        )
        self._charge_payer(reservation, worst_case.cost_micros)
        self._open[reservation.id] = reservation
        return reservation

    async def settle(self, reservation: Reservation | None, row: UsageRow) -> Spending:
        """See `UsageStore.settle`."""
        if reservation is not None:
            self._release(reservation.id)
            self._charge_payer(reservation, row.usage.cost_micros)
        self._add(row)
        return Spending(self._tokens[row.provider, row.period.day], self._micros[row.provider, row.period.month])

    async def record(self, rows: Sequence[UsageRow]) -> None:
        """See `UsageStore.record`."""
        for row in rows:
            self._add(row)

    async def release(self, reservation: Reservation) -> None:
        """See `UsageStore.release`."""
        self._release(reservation.id)

    async def get_spending(self, provider: str, period: Period) -> Spending:
        """See `UsageStore.get_spending`."""
        return Spending(self._tokens.get((provider, period.day), 0), self._micros.get((provider, period.month), 0))

    async def get_reserved(self, provider: str, period: Period) -> Spending:
        """See `UsageStore.get_reserved`."""
        mine = [each for each in self._open.values() if each.provider == provider]
        return Spending(
            sum(each.tokens for each in mine if each.period.day == period.day),
            sum(each.micros for each in mine if each.period.month == period.month),
        )

    async def get_payer_spending(self, payer: str, period: Period, *, is_task_type: bool = False) -> PayerSpending:
        """See `UsageStore.get_payer_spending`."""
        return self._payer_spending(payer, period, is_task_type=is_task_type)

    async def get_payer_reserved(self, payer: str, period: Period, *, is_task_type: bool = False) -> PayerSpending:
        """See `UsageStore.get_payer_reserved`."""
        account = payer_account(payer, is_task_type=is_task_type)
        mine = [each for each in self._open.values() if account in list_accounts(each)]
        return PayerSpending(
            sum(each.micros for each in mine if each.period.day == period.day),
            sum(each.micros for each in mine if each.period.month == period.month),
            is_task_type,
        )

    async def mark_alerted(self, provider: str, period: str, name: str) -> bool:
        """See `UsageStore.mark_alerted`."""
        key = (provider, period, name)
        is_first = key not in self._alerts
        self._alerts.add(key)
        return is_first

    async def reserved(self) -> int:
        """See `UsageStore.reserved`."""
        return sum(reservation.tokens for reservation in self._open.values())

    async def list_totals(self, *, since: str = "", session_id: str | None = None) -> list[UsageTotal]:
        """See `UsageStore.list_totals`."""
        sums: Mapping[_TotalKey, _UsageSums] = (
            self._totals if session_id is None else self._by_session.get(session_id, {})
        )
        return [_to_total(key, sums[key]) for key in sorted(sums) if key[0] >= since]

    async def expire(self, before: str) -> int:
        """See `UsageStore.expire`."""
        calls = sum(sums[0] for key, sums in self._totals.items() if key[0] < before)
        for totals in (self._totals, *self._by_session.values()):
            for key in [key for key in totals if key[0] < before]:
                del totals[key]
        for session_id in [session_id for session_id, totals in self._by_session.items() if not totals]:
            del self._by_session[session_id]
        return calls

    async def expire_accounts(self, before: str) -> int:
        """See `UsageStore.expire_accounts`."""
        deleted = 0
        for sums in (self._tokens, self._micros, self._payer_micros):
            old = [key for key in sums if key[1] < before]
            deleted += len(old)
            for key in old:
                del sums[key]
        alerts = {key for key in self._alerts if key[1] < before}
        self._alerts -= alerts
        return deleted + len(alerts)

    def forget_session(self, session_id: str) -> None:
        """Keep the usage of a deleted session in the totals only."""
        self._by_session.pop(session_id, None)

    def _add(self, row: UsageRow) -> None:
        provider, usage, period = row.provider, row.usage, row.period
        self._tokens[provider, period.day] += usage.input_tokens + usage.output_tokens
        self._micros[provider, period.month] += usage.cost_micros
        key = (period.day, provider, row.model)
        _add_usage(self._totals, key, usage, row.calls)
        _add_usage(self._by_session[row.session_id], key, usage, row.calls)

    def _release(self, reservation_id: str) -> None:
        reservation = self._open.pop(reservation_id, None)
        if reservation is not None:
            self._tokens[reservation.provider, reservation.period.day] -= reservation.tokens
            self._micros[reservation.provider, reservation.period.month] -= reservation.micros
            self._charge_payer(reservation, -reservation.micros)

    def _charge_payer(self, reservation: Reservation, micros: int) -> None:
        for account in list_accounts(reservation):
            for part in (reservation.period.day, reservation.period.month):
                self._payer_micros[account, part] += micros

    def _payer_spending(self, payer: str, period: Period, *, is_task_type: bool) -> PayerSpending:
        found, account = self._payer_micros, payer_account(payer, is_task_type=is_task_type)
        return PayerSpending(found.get((account, period.day), 0), found.get((account, period.month), 0), is_task_type)


def _exceeds(amount: int, limit: int | None) -> bool:
    return limit is not None and amount > limit


def _add_usage(sums: dict[_TotalKey, _UsageSums], key: _TotalKey, usage: Usage, calls: int) -> None:
    found = sums.get(key)
    if found is None:
        found = sums[key] = [0, 0, 0, 0, 0, 0]
    found[0] += calls
    found[1] += usage.input_tokens
    found[2] += usage.output_tokens
    found[3] += usage.cost_micros
    found[4] += usage.cached_input_tokens
    found[5] += usage.unpriced_tokens


def _to_total(key: _TotalKey, found: _UsageSums) -> UsageTotal:
    day, provider, model = key
    calls, *counts = found
    return UsageTotal(day, provider, model, calls, Usage(*counts))
