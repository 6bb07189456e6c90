"""Limits of a provider: which ones it has, and whether one is reached or cannot be seen because a price is unknown."""

from collections.abc import Sequence
from datetime import datetime

from sophon.errors import BudgetExceeded, PriceUnknown
from sophon.messages import Usage
from sophon.models.blind_cost_limits import find_blind_cost_limit
from sophon.models.model import ModelInfo
from sophon.settings import BudgetSettings
from sophon.stores.usage.contract import PayerLimits, ProviderLimits, Spending
from sophon_middlewares.outer.budget.budget_notices import DAILY_TOKENS, MICROS, MONTHLY_COST
from sophon_middlewares.outer.budget.budget_periods import end_of_day, end_of_month
from sophon_middlewares.outer.budget.payer_budget import describe_payer_limit

UNLIMITED = ProviderLimits()


def find_price_error(
    model: ModelInfo, settings: BudgetSettings, payers: Sequence[PayerLimits] = ()
) -> PriceUnknown | None:
    """Return the error for a model whose unknown price would keep a limit on the cost from ever being reached."""
    if payers and model.prices is None and model.hosting != "local":
        return PriceUnknown(model.id, model.provider, *describe_payer_limit(payers[0]))
    limit = find_blind_cost_limit(model, settings)
    return PriceUnknown(model.id, model.provider, *limit) if limit is not None else None


def limits_for_provider(provider: str, settings: BudgetSettings) -> ProviderLimits:
    """Return a provider's limits: its own entry, else the one of `*`."""
    entry = settings.limits_for(provider)
    if entry.daily_tokens is None and entry.monthly_cost is None:
        return UNLIMITED
    cost = entry.monthly_cost
    return ProviderLimits(entry.daily_tokens, None if cost is None else round(cost * MICROS))


def exceeded_budget(
    provider: str,
    spent: Spending,
    limits: ProviderLimits,
    now: datetime,
    time_zone: str,
    *,
    worst_case: Usage | None = None,
) -> BudgetExceeded | None:
    """Return the error for the limit that is reached, or that `worst_case` would exceed; None if there is none."""
    tokens, micros = (worst_case.total_tokens, worst_case.cost_micros) if worst_case is not None else (0, 0)
    least = int(worst_case is None)
    if limits.daily_tokens is not None and spent.tokens + tokens + least > limits.daily_tokens:
        resets = end_of_day(now, time_zone).isoformat()
        return BudgetExceeded(
            DAILY_TOKENS, spent.tokens, limits.daily_tokens, needed=tokens, provider=provider, resets_at=resets
        )
    if limits.monthly_micros is not None and spent.micros + micros + least > limits.monthly_micros:
        resets = end_of_month(now, time_zone).isoformat()
        used, allowed, needed = (each / MICROS for each in (spent.micros, limits.monthly_micros, micros))
        return BudgetExceeded(MONTHLY_COST, used, allowed, needed=needed, provider=provider, resets_at=resets)
    return None
