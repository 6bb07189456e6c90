"""Cost limits of a person, and of a task type, per day and month, whatever the provider: limits, refusals, alerts."""

from collections.abc import Sequence
from datetime import datetime

from sophon.context import Context
from sophon.errors import BudgetExceeded
from sophon.events import BudgetAlert
from sophon.principals import LOCAL_USER
from sophon.settings import BudgetSettings
from sophon.stores.usage.contract import PayerLimits, PayerSpending
from sophon.turn.permissions import find_routing_permissions
from sophon_middlewares.outer.budget.budget_periods import end_of_day, end_of_month

MICROS = 1_000_000
DAILY_COST, MONTHLY_COST = "DailyCost", "MonthlyCost"


def find_payer_limits(ctx: Context) -> PayerLimits | None:
    """Return the cost limits of the turn's principal; None if there is none."""
    found = find_routing_permissions(ctx, uses_tiers=ctx.settings.routing.uses_tiers)
    if found.daily_cost is None and found.monthly_cost is None:
        return None
    return PayerLimits(ctx.principal or LOCAL_USER, _to_micros(found.daily_cost), _to_micros(found.monthly_cost))


def find_task_limits(settings: BudgetSettings, task_type: str | None) -> PayerLimits | None:
    """Return the cost limits of a task type; None if there is none, or the turn was not classified."""
    entry = settings.task_types.get(task_type) if task_type is not None else None
    if task_type is None or entry is None or (entry.daily_cost is None and entry.monthly_cost is None):
        return None
    return PayerLimits(task_type, _to_micros(entry.daily_cost), _to_micros(entry.monthly_cost), is_task_type=True)


def name_payer_limit(name: str, limits: PayerLimits) -> str:
    """Return the name of a limit with whose it is, for messages."""
    return f"Budget.TaskTypes.{limits.payer}.{name}" if limits.is_task_type else f"{name} of {limits.payer}"


def has_limit(limits: PayerLimits, name: str) -> bool:
    """Return whether `name` is what `name_payer_limit` returns for one of the limits."""
    return name in (name_payer_limit(DAILY_COST, limits), name_payer_limit(MONTHLY_COST, limits))


def describe_payer_limit(limits: PayerLimits) -> tuple[str, float]:
    """Return the name of the first limit and its value in USD, for messages."""
    name, micros = (DAILY_COST, limits.daily_micros)
    if micros is None:
        name, micros = (MONTHLY_COST, limits.monthly_micros)
    return name_payer_limit(name, limits), (micros or 0) / MICROS


def find_remaining_micros(spent: PayerSpending, limits: PayerLimits) -> int:
    """Return the micro-USD that the limits leave, 0 if one is reached."""
    left = [
        limit - used
        for limit, used in (
            (limits.daily_micros, spent.daily_micros),
            (limits.monthly_micros, spent.monthly_micros),
        )
        if limit is not None
    ]
    return max(min(left), 0)


def exceeded_payer_limit(
    spent: PayerSpending, limits: PayerLimits, now: datetime, time_zone: str, *, needed_micros: int = 0
) -> BudgetExceeded | None:
    """Return the error for the limit that is reached, or that the needed cost would exceed; None if there is none."""
    for name, limit, used, end in (
        (DAILY_COST, limits.daily_micros, spent.daily_micros, end_of_day),
        (MONTHLY_COST, limits.monthly_micros, spent.monthly_micros, end_of_month),
    ):
        if limit is not None and used + max(needed_micros, 1) > limit:
            return BudgetExceeded(
                name_payer_limit(name, limits),
                used / MICROS,
                limit / MICROS,
                needed=needed_micros / MICROS,
                resets_at=end(now, time_zone).isoformat(),
            )
    return None


def build_payer_alerts(
    spent: PayerSpending, limits: PayerLimits, shares: Sequence[float], *, refused: bool = False
) -> list[BudgetAlert]:
    """Return an alert for each share of a limit that is reached; `refused`: one for each limit that refuses."""
    found: list[BudgetAlert] = []
    for name, limit, used in (
        (DAILY_COST, limits.daily_micros, spent.daily_micros),
        (MONTHLY_COST, limits.monthly_micros, spent.monthly_micros),
    ):
        if limit is None:
            continue
        reached = [1.0] if refused else [share for share in shares if used >= share * limit]
        found += [
            BudgetAlert(
                provider="",
                name=name,
                limit=limit / MICROS,
                used=used / MICROS,
                share=share,
                refused=refused,
                principal="" if limits.is_task_type else limits.payer,
                task_type=limits.payer if limits.is_task_type else "",
            )
            for share in reached
        ]
    return found


def _to_micros(cost: float | None) -> int | None:
    return None if cost is None else round(cost * MICROS)
