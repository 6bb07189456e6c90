"""Budget: limits of tokens per day, cost per month, and a ceiling per turn."""

from collections.abc import Sequence
from datetime import datetime

from sophon.chain.pipeline import Next
from sophon.context import Context
from sophon.errors import BudgetExceeded
from sophon.messages import Response
from sophon.models.gateway.provider import Provider
from sophon.settings import BudgetSettings
from sophon_middlewares.outer.budget_meter import UNLIMITED, TurnMeter, exceeded_budget, limits_for_provider
from sophon_middlewares.outer.budget_periods import budget_period


class Budget:
    """Rejects a turn whose providers are all over their limits, and meters every attempt of every model call.

    On the way in, providers over `Budget.Providers` (DailyTokens; MonthlyCost in USD) are excluded from routing; if
    none is left, the turn ends as `budget_exceeded` before any call. The meter on the context reserves the worst case
    before each attempt and settles with the real usage. `Budget.Turn` (1,000,000 tokens, 5 USD, 500 tool calls, 30
    minutes of active time) limits the turn, its plan steps included. A plan step shares the turn's meter.
    """

    zone = "outer"
    unique = True
    after = ("SessionEvents",)
    before = ("CapabilityRouting", "ContextWindow", "Planning")
    acts = {
        "turn": "excludes providers over their limit; refuses the turn if none is left",
        "model call": "reserves the worst case before each attempt, settles with real usage, alerts at 80 % and 100 %",
        "tool call": "counts it against the turn's ceiling",
    }

    async def __call__(self, ctx: Context, next: Next, /) -> None:
        if ctx.depth:
            await next(ctx)
            return
        try:
            if ctx.settings.budget.providers:
                await _exclude_over_limit(ctx, ctx.services.clock.now())
            ctx.meter = TurnMeter(ctx)
            await next(ctx)
        except BudgetExceeded as error:
            ctx.response = build_refusal(error)


async def _exclude_over_limit(ctx: Context, now: datetime) -> None:
    """Exclude providers over their limits. Raises BudgetExceeded of the first provider if none is left."""
    first: BudgetExceeded | None = None
    active = [provider for provider in ctx.services.gateway.providers if provider.active]
    for provider in providers_with_limits(active, ctx.settings.budget):
        limits = limits_for_provider(provider.id, ctx.settings.budget)
        spent = await ctx.services.store.usage.get_spending(
            provider.id, budget_period(now, ctx.settings.budget.time_zone)
        )
        error = exceeded_budget(provider.id, spent, limits, now, ctx.settings.budget.time_zone)
        if error is not None:
            ctx.excluded_providers[provider.id] = str(error)
            first = first or error
    if first is not None and all(provider.id in ctx.excluded_providers for provider in active):
        raise first


def providers_with_limits(providers: Sequence[Provider], settings: BudgetSettings) -> list[Provider]:
    """Return the providers that have a limit."""
    return [provider for provider in providers if limits_for_provider(provider.id, settings) is not UNLIMITED]


def build_refusal(error: BudgetExceeded) -> Response:
    """Return the response for an exceeded limit."""
    detail = {"limit": error.limit, "used": error.used, "allowed": error.allowed}
    if error.provider is not None:
        detail["provider"] = error.provider
    if error.resets_at is not None:
        detail["resets_at"] = error.resets_at
    return Response(f"I stopped: {error}.", "budget_exceeded", detail=detail)
