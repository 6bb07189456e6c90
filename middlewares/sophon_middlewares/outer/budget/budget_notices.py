"""Notices of a budget: alerts at shares of a limit and at a refusal, and the exclusion of a provider from a turn."""

import logging
from collections.abc import Iterable, Sequence

from sophon.context import Context
from sophon.errors import BudgetExceeded
from sophon.events import BudgetAlert, ProviderExcluded
from sophon.extensions import Key
from sophon.stores.usage.contract import Period, ProviderLimits, Spending, payer_account
from sophon_middlewares.outer.budget.payer_budget import DAILY_COST

log = logging.getLogger("sophon")

DAILY_TOKENS, MONTHLY_COST = "DailyTokens", "MonthlyCost"
MICROS = 1_000_000
ALERT_SHARES = (0.8, 1.0)
"""Default shares of a limit at which a BudgetAlert is emitted."""

REPORTED_EXCLUSIONS: Key[set[str]] = Key("budget.reported_exclusions", dump=sorted, load=set)
"""Reasons of the exclusions that the turn has reported, so that a pass which is repeated does not report them again."""


def build_alerts(
    provider: str, spent: Spending, limits: ProviderLimits, shares: Sequence[float] = ALERT_SHARES
) -> list[BudgetAlert]:
    """Return an alert for each share of a limit that is reached."""
    found: list[BudgetAlert] = []
    for name, used, limit, unit in (
        (DAILY_TOKENS, spent.tokens, limits.daily_tokens, 1),
        (MONTHLY_COST, spent.micros, limits.monthly_micros, MICROS),
    ):
        for share in shares if limit else ():
            if limit and used >= share * limit:
                found.append(
                    BudgetAlert(provider=provider, name=name, limit=limit / unit, used=used / unit, share=share)
                )
    return found


def build_refusal_alerts(error: BudgetExceeded) -> list[BudgetAlert]:
    """Return the alert for a refused call: one if a limit of a provider refused it, else none."""
    if error.provider is None or error.limit not in (DAILY_TOKENS, MONTHLY_COST):
        return []
    alert = BudgetAlert(
        provider=error.provider, name=error.limit, limit=error.allowed, used=error.used, share=1.0, refused=True
    )
    return [alert]


def build_exclusion(error: BudgetExceeded) -> ProviderExcluded:
    """Return the event for a provider that the turn does not use because of the error."""
    return ProviderExcluded(provider=error.provider or "", limit=error.limit, reason=str(error), until=error.resets_at)


async def send_alerts(ctx: Context, alerts: Iterable[BudgetAlert], period: Period) -> None:
    """Emit the alerts that were not sent before: one for each provider, limit and share in a day or month.

    The value of the limit is part of what was sent, so that a limit that was raised alerts again.
    """
    for alert in alerts:
        span = period.day if alert.name in (DAILY_TOKENS, DAILY_COST) else period.month
        whose = _find_account(alert)
        if await ctx.services.store.usage.mark_alerted(whose, span, f"{alert.name}:{alert.share:g}:{alert.limit:.12g}"):
            ctx.emit(alert)


def _find_account(alert: BudgetAlert) -> str:
    if alert.task_type:
        return payer_account(alert.task_type, is_task_type=True)
    return payer_account(alert.principal) if alert.principal else alert.provider


async def report_exclusion(ctx: Context, error: BudgetExceeded, period: Period) -> None:
    """Emit the exclusion of a provider, once in a turn, and the alert, once in a day or month; log the exclusion."""
    reported = ctx.get(REPORTED_EXCLUSIONS) or set()
    if str(error) in reported:
        return
    ctx.put(REPORTED_EXCLUSIONS, {*reported, str(error)})
    ctx.emit(build_exclusion(error))
    log.info("provider %s is excluded: %s", error.provider, error)
    await send_alerts(ctx, build_refusal_alerts(error), period)
