"""Budget: limits of tokens per day, cost per month, and a ceiling per turn."""

import asyncio
from collections.abc import Sequence

from sophon.chain.pipeline import Next
from sophon.context import Context
from sophon.errors import BudgetExceeded
from sophon.messages import Response
from sophon.models.embeddings.metered_embedder import metering
from sophon.models.gateway.provider import Provider
from sophon.models.model import ModelInfo
from sophon.routing.remaining_cost import REMAINING_COST
from sophon.settings import BudgetSettings
from sophon.stores.usage.contract import PayerLimits, ProviderLimits
from sophon_middlewares.outer.budget_meter import (
    UNLIMITED,
    TurnMeter,
    exceeded_budget,
    find_price_error,
    limits_for_provider,
    report_payer_refusal,
)
from sophon_middlewares.outer.budget_notices import report_exclusion
from sophon_middlewares.outer.budget_periods import budget_period
from sophon_middlewares.outer.payer_budget import (
    MICROS,
    exceeded_payer_limit,
    find_payer_limits,
    find_remaining_micros,
)
from sophon_middlewares.outer.usage_recording import record_usage, record_usage_of_failed_turn


class Budget:
    """Rejects a turn whose providers are all over their limits, and meters every attempt of every model call.

    On the way in, providers over `Budget.Providers` (DailyTokens; MonthlyCost in USD) are excluded from routing, and so
    are those whose models have an unknown price while a cost is limited; if none is left, the turn ends as
    `budget_exceeded` before any call. Each exclusion is a ProviderExcluded event. The meter on the context reserves the
    worst case before each attempt and settles with the real usage. `DailyCost` and `MonthlyCost` of the person
    (`Permissions`) are reserved and settled with it; if they are spent, only free models are asked. `Budget.Turn`
    (1,000,000 tokens, 5 USD, 500 tool calls, 30 minutes of active time) limits the turn, its plan steps included, and
    `Budget.TaskTypes` has values of its own for the task types of messages. A plan step shares the turn's meter.
    Waiting for a person is no active time, and a call that runs is not interrupted: a host's `MaxExecutionTime` does
    that.
    """

    zone = "outer"
    unique = True
    calls_next = True
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
        meter, excluded = ctx.meter, ctx.excluded_providers
        payer = find_payer_limits(ctx)
        if ctx.settings.budget.task_types:
            await _classify(ctx)
        try:
            if payer is not None:
                await _check_payer(ctx, payer)
            if ctx.services.settings.budget.has_provider_limits or has_unknown_prices(ctx.services.gateway.providers):
                ctx.excluded_providers = await _exclude_providers(ctx, payer)
            ctx.meter = TurnMeter(ctx, payer)
            with metering(ctx.meter):
                await next(ctx)
        except BudgetExceeded as error:
            ctx.response = build_refusal(error)
        except (Exception, asyncio.CancelledError):
            if not ctx.has_end_recorder:
                await record_usage_of_failed_turn(ctx)
            raise
        finally:
            # Entered again, it judges the providers anew: a limit may have been reset since.
            ctx.meter, ctx.excluded_providers = meter, excluded
        if not ctx.has_end_recorder:
            await record_usage(ctx)


async def _classify(ctx: Context) -> None:
    """Classify the message, for the budget of its task type, unless that was done."""
    from sophon.routing.turn_keys import MESSAGE_VECTOR, TASK_PROFILE  # lazy: few budgets need it

    if ctx.get(TASK_PROFILE) is None:
        profile, vector = await ctx.services.router.classify(ctx.text)
        ctx.put(TASK_PROFILE, profile)
        if vector is not None:
            ctx.put(MESSAGE_VECTOR, vector)


async def _check_payer(ctx: Context, payer: PayerLimits) -> None:
    """Note what the limits of the person leave. Raises BudgetExceeded if that is nothing and no model is free."""
    now, time_zone = ctx.services.clock.now(), ctx.services.settings.budget.time_zone
    period = budget_period(now, time_zone)
    spent = await ctx.services.store.usage.get_payer_spending(payer.payer, period)
    ctx.put(REMAINING_COST, find_remaining_micros(spent, payer) / MICROS)
    error = exceeded_payer_limit(spent, payer, now, time_zone)
    if error is None:
        return
    await report_payer_refusal(ctx, payer, period)
    providers = [provider for provider in ctx.services.gateway.providers if provider.active]
    if not any(is_free(info) for provider in providers for info in provider.model_infos()):
        raise error


def is_free(info: ModelInfo) -> bool:
    """Return whether the calls of a model cost nothing."""
    return info.hosting == "local" if info.prices is None else not any(info.prices)


async def _exclude_providers(ctx: Context, payer: PayerLimits | None) -> dict[str, str]:
    """Return the turn's excluded providers and those that a budget refuses, with the reason.

    Raises BudgetExceeded of the first one if none is left.
    """
    budget, excluded = ctx.services.settings.budget, ctx.excluded_providers
    active = [provider for provider in ctx.services.gateway.providers if provider.active]
    first: BudgetExceeded | None = None
    excluded, now = dict(excluded), ctx.services.clock.now()
    for provider in active:
        infos = provider.model_infos()
        error = find_provider_price_error(infos, budget, payer)
        limits = limits_for_models(infos, budget)
        if error is None and limits is not UNLIMITED:
            spent = await ctx.services.store.usage.get_spending(provider.id, budget_period(now, budget.time_zone))
            error = exceeded_budget(provider.id, spent, limits, now, budget.time_zone)
        if error is not None:
            await report_exclusion(ctx, error, budget_period(now, budget.time_zone))
            excluded[provider.id] = str(error)
            first = first or error
    if first is not None and all(provider.id in excluded for provider in active):
        raise first
    return excluded


def has_unknown_prices(providers: Sequence[Provider]) -> bool:
    """Return whether a model of an active provider has an unknown price, although it does not run locally."""
    for provider in providers:  # noqa: SIM110 - a generator costs more than the question, which every turn asks
        if provider.active and provider.has_unknown_prices:
            return True
    return False


def find_provider_price_error(
    models: Sequence[ModelInfo], settings: BudgetSettings, payer: PayerLimits | None = None
) -> BudgetExceeded | None:
    """Return the error of the provider's first model if a limit on the cost refuses every one of its models."""
    first: BudgetExceeded | None = None
    for model in models:
        error = find_price_error(model, settings, payer)
        if error is None:
            return None
        first = first or error
    return first


def limits_for_models(models: Sequence[ModelInfo], settings: BudgetSettings) -> ProviderLimits:
    """Return the limits of the provider of these models; a limit on the cost does not concern free models."""
    limits = limits_for_provider(models[0].provider, settings)
    if limits.monthly_micros is None or any(model.prices and any(model.prices) for model in models):
        return limits
    return ProviderLimits(limits.daily_tokens) if limits.daily_tokens is not None else UNLIMITED


def build_refusal(error: BudgetExceeded) -> Response:
    """Return the response for an exceeded limit."""
    detail = {"limit": error.limit, "used": error.used, "allowed": error.allowed}
    if error.provider is not None:
        detail["provider"] = error.provider
    if error.resets_at is not None:
        detail["resets_at"] = error.resets_at
    return Response(f"I stopped: {error}.", "budget_exceeded", detail=detail)
