"""Budget: limits of tokens per day, cost per month, and a ceiling per turn."""

import asyncio
import logging
from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache
from typing import TypeAlias

import anyio

from sophon._python.lazy_dataclass import dataclass
from sophon.chain.pipeline import Next
from sophon.context import Context
from sophon.context.state import UnrecordedUsage
from sophon.errors import BudgetExceeded
from sophon.failure_log import log_failure
from sophon.messages import Response, Usage
from sophon.models.model import Meter, ModelInfo, ModelRequest, metering
from sophon.routing.context_keys import REMAINING_COST
from sophon.settings import BudgetSettings
from sophon.stores.contract import Store
from sophon.stores.usage.contract import PayerLimits, Period, ProviderLimits, UsageRow
from sophon_middlewares.outer.budget.budget_meter import (
    AttemptReservation,
    TurnMeter,
    find_task_type,
    report_payer_refusal,
)
from sophon_middlewares.outer.budget.budget_notices import report_exclusion
from sophon_middlewares.outer.budget.budget_periods import budget_period
from sophon_middlewares.outer.budget.payer_budget import (
    MICROS,
    exceeded_payer_limit,
    find_payer_limits,
    find_remaining_micros,
    find_task_limits,
)
from sophon_middlewares.outer.budget.provider_budget import (
    UNLIMITED,
    exceeded_budget,
    find_price_error,
    limits_for_provider,
)

log = logging.getLogger("sophon")

_period = lru_cache(maxsize=8)(Period)
"""The same object for all rows of a day."""


class Budget:
    """Rejects a turn whose providers are all over their limits, and meters every attempt of every model call.

    On the way in, providers over `Budget.Providers` (DailyTokens; MonthlyCost in USD) are excluded from routing, and so
    are those whose models have an unknown price while a cost is limited; if none is left, the turn ends as
    `budget_exceeded` before any call. Each exclusion is a ProviderExcluded event. The meter on the context reserves the
    worst case before each attempt and settles with the real usage. `DailyCost` and `MonthlyCost` of the person
    (`Permissions`) and of a task type (`Budget.TaskTypes`) are reserved and settled with it; if they are spent, only
    free models are asked. `Budget.Turn` (1,000,000 tokens, 5 USD, 500 tool calls; no limit of active time by default)
    limits the turn, its plan steps included, and `Budget.TaskTypes` has values of its own for the task types of
    messages. A plan step shares the turn's meter, and a turn that a turn starts, with whichever services, is charged to
    it, too. Waiting for a person is no active time, and a call that runs is not interrupted: a host's
    `MaxExecutionTime` does that.
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
        payers = await _find_payers(ctx)
        own = TurnMeter(ctx, payers)
        try:
            if payers:
                await _check_payers(ctx, payers)
            providers = ctx.services.gateway.providers
            if ctx.services.settings.budget.has_provider_limits or any(
                provider.active and provider.has_unknown_prices for provider in providers
            ):
                ctx.excluded_providers = await _exclude_providers(ctx, payers)
            # Of a turn that begins within another one; see `SharedAccount`.
            shared = SharedAccount(own, _limit_to_ceiling(meter, own.store)) if isinstance(meter, Account) else None
            ctx.meter = shared or own
            with metering(ctx.meter):
                await next(ctx)
        except BudgetExceeded as error:
            ctx.response = build_refusal(error)
        except (Exception, asyncio.CancelledError):
            if not ctx.has_end_recorder:
                await record_usage_of_failed_turn(ctx)
            raise
        finally:
            own.end_turn()
            # Entered again, it judges the providers anew: a limit may have been reset since.
            ctx.meter, ctx.excluded_providers = meter, excluded
        if not ctx.has_end_recorder:
            await record_usage(ctx)


async def _classify(ctx: Context) -> None:
    """Classify the message, for the budget of its task type, unless that was done."""
    from sophon.routing.context_keys import MESSAGE_VECTOR, TASK_PROFILE  # lazy: few budgets need it

    if ctx.get(TASK_PROFILE) is None:
        profile, vector = await ctx.services.learning.router.classify(ctx.text)
        ctx.put(TASK_PROFILE, profile)
        if vector is not None:
            ctx.put(MESSAGE_VECTOR, vector)


async def _find_payers(ctx: Context) -> list[PayerLimits]:
    """Return the cost limits of the person, and of the task type of the message, which is classified for that."""
    settings, found = ctx.settings, list[PayerLimits | None]()
    if settings.permissions.has_cost_limits or settings.routing.uses_tiers:
        found.append(find_payer_limits(ctx))
    if settings.budget.task_types:
        await _classify(ctx)
        found.append(find_task_limits(settings.budget, find_task_type(ctx)))
    return [each for each in found if each is not None]


async def _check_payers(ctx: Context, payers: Sequence[PayerLimits]) -> None:
    """Note what the limits leave. Raises BudgetExceeded if one leaves nothing and no model is free."""
    now, time_zone = ctx.services.clock.now(), ctx.services.settings.budget.time_zone
    period, usage = budget_period(now, time_zone), ctx.services.store.usage
    left: list[int] = []
    error: BudgetExceeded | None = None
    for payer in payers:
        spent = await usage.get_payer_spending(payer.payer, period, is_task_type=payer.is_task_type)
        left.append(find_remaining_micros(spent, payer))
        exceeded = exceeded_payer_limit(spent, payer, now, time_zone)
        if exceeded is not None:
            await report_payer_refusal(ctx, payer, period)
            error = error or exceeded
    ctx.put(REMAINING_COST, min(left) / MICROS)
    if error is None:
        return
    providers = [provider for provider in ctx.services.gateway.providers if provider.active]
    if not any(is_free(info) for provider in providers for info in provider.model_infos()):
        raise error


def is_free(info: ModelInfo) -> bool:
    """Return whether the calls of a model cost nothing."""
    return info.hosting == "local" if info.prices is None else not any(info.prices)


async def _exclude_providers(ctx: Context, payers: Sequence[PayerLimits]) -> dict[str, str]:
    """Return the turn's excluded providers and those that a budget refuses, with the reason.

    Raises BudgetExceeded of the first one if none is left.
    """
    budget, excluded = ctx.services.settings.budget, ctx.excluded_providers
    active = [provider for provider in ctx.services.gateway.providers if provider.active]
    first: BudgetExceeded | None = None
    excluded, now = dict(excluded), ctx.services.clock.now()
    for provider in active:
        infos = provider.model_infos()
        error = find_provider_price_error(infos, budget, payers)
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


def find_provider_price_error(
    models: Sequence[ModelInfo], settings: BudgetSettings, payers: Sequence[PayerLimits] = ()
) -> BudgetExceeded | None:
    """Return the error of the provider's first model if a limit on the cost refuses every one of its models."""
    first: BudgetExceeded | None = None
    for model in models:
        error = find_price_error(model, settings, payers)
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


class TurnCeiling:
    """Meter of the ceiling of a turn (`Budget.Turn`) alone, for usage that another turn records in the same store."""

    def __init__(self, meter: TurnMeter) -> None:
        self._meter = meter

    async def reserve(self, request: ModelRequest, input_tokens: int) -> AttemptReservation:
        """See `Meter`."""
        return self._meter.hold(request, input_tokens)

    async def settle(self, reservation: AttemptReservation, request: ModelRequest, usage: Usage) -> None:
        """See `Meter`."""
        self._meter.settle_held(reservation, usage)

    async def release(self, reservation: AttemptReservation) -> None:
        """See `Meter`."""
        self._meter.release_held(reservation)

    def reserve_tool_call(self) -> None:
        """See `Meter`."""
        self._meter.reserve_tool_call()

    def find_time_limit(self) -> tuple[str, float] | None:
        """See `Meter`."""
        return self._meter.find_time_limit()


@dataclass(frozen=True, slots=True)
class SharedAccount:
    """Meter of a turn that began within another one: the limits of both hold, and the usage counts in both.

    Tool calls and time are limited by `own`; the time of the outer turn ends the calls of the inner one, too.
    """

    own: "TurnMeter | TurnCeiling | SharedAccount"
    outer: "TurnMeter | TurnCeiling | SharedAccount"

    async def reserve(self, request: ModelRequest, input_tokens: int) -> tuple[object, object]:
        """See `Meter`. Raises the error of the outer turn first."""
        outer = await self.outer.reserve(request, input_tokens)
        try:
            return outer, await _as_meter(self.own).reserve(request, input_tokens)
        except BaseException:
            await _as_meter(self.outer).release(outer)
            raise

    async def settle(self, reservation: tuple[object, object], request: ModelRequest, usage: Usage) -> None:
        """See `Meter`."""
        outer, own = reservation
        try:
            await _as_meter(self.outer).settle(outer, request, usage)
        finally:
            await _as_meter(self.own).settle(own, request, usage)

    async def release(self, reservation: tuple[object, object]) -> None:
        """See `Meter`."""
        outer, own = reservation
        try:
            await _as_meter(self.outer).release(outer)
        finally:
            await _as_meter(self.own).release(own)

    def reserve_tool_call(self) -> None:
        """See `Meter`."""
        self.own.reserve_tool_call()

    def find_time_limit(self) -> tuple[str, float] | None:
        """See `Meter`."""
        return self.own.find_time_limit()


Account: TypeAlias = TurnMeter | TurnCeiling | SharedAccount
"""Meter of a turn that may start others."""


def _as_meter(account: Account) -> Meter:
    """Return the account as the protocol, whose reservations are whatever `reserve` returned."""
    return account


def _limit_to_ceiling(account: Account, store: Store) -> Account:
    """Return the account that a turn within its turn is charged to: if the usage of that one is recorded in the same
    store, only the ceiling of the outer turn.
    """
    if isinstance(account, SharedAccount):
        return SharedAccount(_limit_to_ceiling(account.own, store), _limit_to_ceiling(account.outer, store))
    if isinstance(account, TurnMeter) and account.store is store:
        return TurnCeiling(account)
    return account


async def record_usage(ctx: Context) -> None:
    """Hand the usage that the store does not have over to the turn log; a suspended turn keeps it in its state.

    Raises StoreError, and then the turn still has it.
    """
    unrecorded = ctx.tally.unrecorded
    if unrecorded and (ctx.response is None or ctx.response.finish_reason != "suspended"):
        await _hand_over(ctx)


async def record_usage_of_failed_turn(ctx: Context) -> None:
    """Hand the usage over also if the turn is cancelled; an error of the store is logged, because another one counts.

    The store completes a write even if its caller is cancelled.
    """
    if not ctx.tally.unrecorded:
        return
    try:
        with anyio.CancelScope(shield=True):
            await _hand_over(ctx)
    except Exception as error:  # noqa: BLE001 - logged; the error that ended the turn is raised
        log_failure(log, error, "the usage of run %s could not be recorded", ctx.run_id)


async def _hand_over(ctx: Context) -> None:
    services, unrecorded = ctx.services, ctx.tally.unrecorded
    await services.turn_log.record_usage(ctx, usage_rows(unrecorded, ctx.session_id, ctx.run_id, services.clock.now()))
    unrecorded.clear()


def usage_rows(unrecorded: UnrecordedUsage, session_id: str, run_id: str, at: datetime) -> list[UsageRow]:
    """Return the rows that record the usage: one per day, model and purpose."""
    return [
        UsageRow(provider, model, purpose, session_id, run_id, counts.to_usage(), _period(day, month), at, counts.calls)
        for (day, month, provider, model, purpose), counts in unrecorded.items()
    ]
