"""Status of a host's routing and costs: chain, strategy, tiers, cost by tier, and how far limits are used."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from sophon._python.lazy_dataclass import dataclass
from sophon.messages import Usage
from sophon.routing.model_directory import ModelDirectory
from sophon.routing.tier_catalog import TierCatalog
from sophon.services import Services
from sophon.stores.usage.contract import Period, UsageTotal
from sophon_hosting.settings.hub import HubSettings
from sophon_hosting.store.contract import host_store
from sophon_middlewares.outer.budget.budget_periods import budget_period

MICROS = 1_000_000
NO_TIER = "none"
"""Tier of models that stand in none any more."""


@dataclass(frozen=True, slots=True)
class TierCost:
    """Calls and usage of a tier's models, today and this month, in the time zone of the budgets."""

    tier: str
    models: tuple[str, ...]
    calls_today: int
    today: Usage
    calls_this_month: int
    this_month: Usage


@dataclass(frozen=True, slots=True)
class LimitUse:
    """Use of a limit: tokens or USD. `alert` is the highest share of `Budget.AlertShares` that is reached, or None."""

    name: str
    unit: str
    used: float
    limit: float
    alert: float | None

    @property
    def share(self) -> float:
        """Used part of the limit; 1 for a limit of 0."""
        return self.used / self.limit if self.limit else 1.0


@dataclass(frozen=True, slots=True)
class Status:
    """What a host routes by, what its tiers cost, and its limits."""

    chain: str
    strategy: str
    model: str
    tiers: Sequence[TierCost]
    limits: Sequence[LimitUse]


async def read_status(services: Services, now: datetime) -> Status:
    """Return the status. Raises StoreError."""
    settings, store = services.settings, host_store(services)
    period = budget_period(now, settings.budget.time_zone)
    totals = await store.usage.list_totals(since=f"{period.month}-01")
    first = services.gateway.providers[0].model_infos()[0].id if services.gateway.providers else ""
    return Status(
        settings.chain.name,
        settings.routing.strategy,
        settings.routing.model if settings.routing.strategy == "Static" and settings.routing.model else first,
        sum_by_tier(totals, list_tier_models(services), period),
        await _list_limits(services, period),
    )


def list_tier_models(services: Services) -> Mapping[str, tuple[str, ...]]:
    """Return the models of each tier as `provider/model`, the cheapest tier first, whatever the strategy."""
    routing = services.settings.routing
    catalog = TierCatalog(routing)
    directory = ModelDirectory(
        services.gateway.providers, allow=routing.allow, deny=routing.deny, aliases=routing.aliases
    )
    return {
        tier.name: tuple(each.info.id for each in catalog.find_candidates(tier, directory))
        for tier in catalog.list_tiers(directory)
    }


def sum_by_tier(
    totals: Sequence[UsageTotal], tiers: Mapping[str, tuple[str, ...]], period: Period
) -> Sequence[TierCost]:
    """Return calls and usage of each tier. A model of several tiers counts with the cheapest, one of none by itself."""
    home = {model: tier for tier in reversed(list(tiers)) for model in tiers[tier]}
    found: list[TierCost] = []
    for tier in (*tiers, NO_TIER):
        rows = [each for each in totals if home.get(f"{each.provider}/{each.model}", NO_TIER) == tier]
        today = [each for each in rows if each.day == period.day]
        if rows or tier != NO_TIER:
            models = tiers.get(tier) or tuple(sorted({f"{each.provider}/{each.model}" for each in rows}))
            found.append(TierCost(tier, models, *_add_up(today), *_add_up(rows)))
    return found


def measure_limit(name: str, unit: str, used: float, limit: float, shares: Sequence[float]) -> LimitUse:
    """Return the use of a limit with the highest share for which an alert is due."""
    reached = [share for share in shares if used >= limit * share]
    return LimitUse(name, unit, used, limit, max(reached, default=None))


def _add_up(rows: Sequence[UsageTotal]) -> tuple[int, Usage]:
    return sum(each.calls for each in rows), sum((each.usage for each in rows), Usage())


async def _list_limits(services: Services, period: Period) -> list[LimitUse]:
    budget, usage, found = services.settings.budget, host_store(services).usage, list[LimitUse]()

    def add(name: str, unit: str, used: float, limit: float | None) -> None:
        if limit is not None:
            found.append(measure_limit(name, unit, used, limit, budget.alert_shares))

    for provider in services.gateway.providers:
        entry, spent = budget.limits_for(provider.id), await usage.get_spending(provider.id, period)
        add(f"DailyTokens of {provider.id}", "tokens", spent.tokens, entry.daily_tokens)
        add(f"MonthlyCost of {provider.id}", "USD", spent.micros / MICROS, entry.monthly_cost)
    for payer, is_task_type, daily, monthly in _list_payers(services):
        of_payer = await usage.get_payer_spending(payer, period, is_task_type=is_task_type)
        add(f"DailyCost of {payer}", "USD", of_payer.daily_micros / MICROS, daily)
        add(f"MonthlyCost of {payer}", "USD", of_payer.monthly_micros / MICROS, monthly)
    return found


def _list_payers(services: Services) -> list[tuple[str, bool, float | None, float | None]]:
    """Return the persons and task types that the settings name, with their limits in USD per day and month."""
    settings = services.settings
    found: list[tuple[str, bool, float | None, float | None]] = []
    named = {*settings.permissions.users, *(user.id for user in settings.section(HubSettings).users)} - {"*"}
    for person in sorted(named):
        level = settings.permissions.level_of(
            person, channel="hub", is_operator=services.security.operator_policy.is_operator(person)
        )
        allowed = settings.permissions.routing_of(person, level, uses_tiers=settings.routing.uses_tiers)
        found.append((person, False, allowed.daily_cost, allowed.monthly_cost))
    for kind, task in settings.budget.task_types.items():
        found.append((kind, True, task.daily_cost, task.monthly_cost))
    return found
