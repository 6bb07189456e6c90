"""The meter of one turn: reserves budget before each attempt and settles it afterwards."""

import logging
from collections.abc import Sequence

from sophon._python.lazy_dataclass import dataclass
from sophon.context import Context
from sophon.context.state import UsageCounts
from sophon.errors import BudgetExceeded
from sophon.events import BudgetAlert
from sophon.messages import Usage
from sophon.models.call_cost import worst_cost_micros
from sophon.models.model import ModelRequest
from sophon.stores.contract import Store
from sophon.stores.usage.contract import (
    PayerLimits,
    PayerSpending,
    Period,
    ProviderLimits,
    Reservation,
    Spending,
    UsageRow,
)
from sophon_middlewares.outer.budget.budget_notices import (
    MICROS,
    build_alerts,
    report_exclusion,
    send_alerts,
)
from sophon_middlewares.outer.budget.budget_periods import budget_period
from sophon_middlewares.outer.budget.payer_budget import (
    build_payer_alerts,
    describe_payer_limit,
    exceeded_payer_limit,
    has_limit,
)
from sophon_middlewares.outer.budget.provider_budget import (
    UNLIMITED,
    exceeded_budget,
    find_price_error,
    limits_for_provider,
)

log = logging.getLogger("sophon")

TURN_LIMIT_NAMES = ("Tokens", "Cost", "ToolCalls", "ActiveTime")
"""Names of the settings of `TurnLimits`, in its order."""


@dataclass(slots=True)
class AttemptReservation:
    """Reservation of one attempt against the turn's ceiling and, if the provider has a limit, in the usage store."""

    tokens: int
    micros: int
    limits: ProviderLimits
    provider_reservation: Reservation | None = None


class TurnMeter:
    """Enforces `Budget.Turn` and `Budget.Providers` for one turn; shared with the turn's plan steps.

    An attempt with a provider that has a limit, and one that costs something of which `payers` have a limit, the person
    and the task type, is reserved and settled in the store. The others are only counted, and handed over together at
    the end of the turn
    (`record_usage`); until then the counts are part of its state.

    Raises BudgetExceeded with limit, use and, for a provider's limit, the time of its reset; PriceUnknown for a model
    whose cost a limit could not see. A provider that refuses is reported once in a turn.
    """

    __slots__ = (
        "_alerted",
        "_ctx",
        "_has_limits",
        "_is_turn_over",
        "_limits",
        "_payers",
        "_reported",
        "_reserved_micros",
        "_reserved_tokens",
        "_settings",
        "_task_type",
    )

    def __init__(self, ctx: Context, payers: Sequence[PayerLimits] = ()) -> None:
        self._ctx = ctx
        self._settings = ctx.services.settings.budget
        self._has_limits = self._settings.has_provider_limits
        self._task_type = find_task_type(ctx) if self._settings.task_types else None
        self._limits = self._settings.turn.limits
        if self._task_type is not None:
            self._limits = self._settings.limits_of_turn(self._task_type)
        self._payers = tuple(payers)
        self._reserved_tokens = 0
        self._reserved_micros = 0
        self._is_turn_over = False
        # Replaced by larger ones when there is something to remember.
        self._reported: frozenset[tuple[str | None, str]] = frozenset()
        self._alerted: frozenset[tuple[str, str, float, Period]] = frozenset()

    async def reserve(self, request: ModelRequest, input_tokens: int) -> AttemptReservation:
        """Reserve the worst case of an attempt; see `Meter`."""
        model, max_tokens = request.model, request.max_tokens
        if (
            model.prices is None
            and model.hosting != "local"
            and (error := find_price_error(model, self._settings, self._payers)) is not None
        ):
            await self._report(error)
            raise error
        reservation = self.hold(request, input_tokens)
        if reservation.limits is not UNLIMITED or (self._payers and reservation.micros):
            try:
                reservation.provider_reservation = await self._reserve(
                    model.provider, Usage(input_tokens, max_tokens, reservation.micros), reservation.limits
                )
            except BaseException as error:
                self.release_held(reservation)
                if isinstance(error, BudgetExceeded):
                    await self._report(error)
                raise
        return reservation

    async def settle(self, reservation: AttemptReservation, request: ModelRequest, usage: Usage) -> None:
        """Replace the reservation by the real usage; emit an alert if a limit is near or reached."""
        self.settle_held(reservation, usage)
        ctx, model, claimed = self._ctx, request.model, reservation.provider_reservation
        now = ctx.services.clock.now()
        if claimed is None and not self._is_turn_over:
            period, unrecorded = budget_period(now, self._settings.time_zone), ctx.tally.unrecorded
            key = (period.day, period.month, model.provider, model.name, request.purpose)
            counts = unrecorded.get(key)
            if counts is None:
                unrecorded[key] = UsageCounts.from_usage(usage, 1)
            else:
                counts.add(usage)
            return
        period = budget_period(now, self._settings.time_zone) if claimed is None else claimed.period
        row = UsageRow(model.provider, model.name, request.purpose, ctx.session_id, ctx.run_id, usage, period, now)
        if claimed is None:
            await ctx.services.store.usage.record([row])
            return
        spent = await ctx.services.store.usage.settle(claimed, row)
        await self._send_alerts(model.provider, spent, reservation.limits, period)
        if claimed.payer or claimed.task_type:
            for payer in self._payers:
                await self._send_payer_alerts(payer, period)

    async def release(self, reservation: AttemptReservation) -> None:
        """Release the reservation without usage."""
        self.release_held(reservation)
        if reservation.provider_reservation is not None:
            await self._ctx.services.store.usage.release(reservation.provider_reservation)

    def end_turn(self) -> None:
        """Note that the turn is over: what a task that it has left behind uses from now on is recorded at once."""
        self._is_turn_over = True

    @property
    def store(self) -> Store:
        """The store that the usage of the turn is recorded in."""
        return self._ctx.services.store

    def hold(self, request: ModelRequest, input_tokens: int) -> AttemptReservation:
        """Reserve the worst case of an attempt against the turn's ceiling alone. Raises BudgetExceeded.

        At once, without an await: concurrent plan steps and the turns that a turn has started share its ceiling.
        """
        model, max_tokens = request.model, request.max_tokens
        reservation = AttemptReservation(
            input_tokens + max_tokens,
            0 if model.prices is None else worst_cost_micros(model, input_tokens, max_tokens),
            limits_for_provider(model.provider, self._settings) if self._has_limits else UNLIMITED,
        )
        self._check_turn(reservation)
        if request.tools:  # a call without tools sums up what the turn has found
            allowed = self._limits.active_seconds
            if allowed is not None and (seconds := self._ctx.stopwatch.seconds) > allowed:
                raise self._turn_limit_error("ActiveTime", seconds, allowed, 0, "seconds of work")
        self._reserved_tokens += reservation.tokens
        self._reserved_micros += reservation.micros
        return reservation

    def settle_held(self, reservation: AttemptReservation, usage: Usage) -> None:
        """Replace what `hold` has reserved by the real usage."""
        self.release_held(reservation)
        self._ctx.tally.metered.add(usage)

    def release_held(self, reservation: AttemptReservation) -> None:
        """Give back what `hold` has reserved."""
        self._reserved_tokens -= reservation.tokens
        self._reserved_micros -= reservation.micros

    def reserve_tool_call(self) -> None:
        """Check the limits for a tool call that is about to run."""
        used, allowed = self._ctx.tally.tool_calls, self._limits.tool_calls
        if allowed is not None and used >= allowed:
            raise self._turn_limit_error("ToolCalls", used, allowed, 1)

    def find_time_limit(self) -> tuple[str, float] | None:
        """Return the setting of the time of work and its seconds; None if there is no limit."""
        seconds = self._limits.active_seconds
        return None if seconds is None else (self._name_limit("ActiveTime"), seconds)

    async def _reserve(self, provider: str, worst: Usage, limits: ProviderLimits) -> Reservation:
        now, time_zone = self._ctx.services.clock.now(), self._settings.time_zone
        period, payers = budget_period(now, time_zone), self._payers if worst.cost_micros else ()
        person = next((each for each in payers if not each.is_task_type), None)
        task = next((each for each in payers if each.is_task_type), None)
        result = await self._ctx.services.store.usage.reserve(provider, period, worst, limits, person, task)
        if isinstance(result, Reservation):
            return result
        if isinstance(result, PayerSpending):
            payer = task if result.is_task_type else person
            assert payer is not None, "only its limits refuse it"
            refused = exceeded_payer_limit(result, payer, now, time_zone, needed_micros=worst.cost_micros)
            raise refused or BudgetExceeded(*describe_payer_limit(payer), 0)
        error = exceeded_budget(provider, result, limits, now, time_zone, worst_case=worst)
        raise error or BudgetExceeded("Budget.Providers", 0, 0, provider=provider)

    async def _send_alerts(self, provider: str, spent: Spending, limits: ProviderLimits, period: Period) -> None:
        if not self._new_alerts(provider, spent, limits, period):
            return
        # `spent` contains the worst case of attempts in flight, which nobody has used yet.
        open_now = await self._ctx.services.store.usage.get_reserved(provider, period)
        used = Spending(spent.tokens - open_now.tokens, spent.micros - open_now.micros)
        alerts = self._new_alerts(provider, used, limits, period)
        await send_alerts(self._ctx, alerts, period)
        self._alerted |= {(each.provider, each.name, each.share, period) for each in alerts}

    async def _send_payer_alerts(self, payer: PayerLimits, period: Period) -> None:
        usage = self._ctx.services.store.usage
        spent = await usage.get_payer_spending(payer.payer, period, is_task_type=payer.is_task_type)
        if not self._filter_new(build_payer_alerts(spent, payer, self._settings.alert_shares), period):
            return
        open_now = await usage.get_payer_reserved(payer.payer, period, is_task_type=payer.is_task_type)
        used = PayerSpending(spent.daily_micros - open_now.daily_micros, spent.monthly_micros - open_now.monthly_micros)
        alerts = self._filter_new(build_payer_alerts(used, payer, self._settings.alert_shares), period)
        await send_alerts(self._ctx, alerts, period)
        self._alerted |= {(each.provider, each.name, each.share, period) for each in alerts}

    def _new_alerts(self, provider: str, spent: Spending, limits: ProviderLimits, period: Period) -> list[BudgetAlert]:
        return self._filter_new(build_alerts(provider, spent, limits, self._settings.alert_shares), period)

    def _filter_new(self, alerts: list[BudgetAlert], period: Period) -> list[BudgetAlert]:
        """Return the alerts that this turn has not sent: the store knows them all, but every question is a write."""
        return [each for each in alerts if (each.provider, each.name, each.share, period) not in self._alerted]

    async def _report(self, error: BudgetExceeded) -> None:
        key = (error.provider, error.limit)
        if key not in self._reported:
            self._reported |= {key}
            period = budget_period(self._ctx.services.clock.now(), self._settings.time_zone)
            refusing = [each for each in self._payers if has_limit(each, error.limit)] if not error.provider else []
            for payer in refusing:
                await report_payer_refusal(self._ctx, payer, period)
            if not refusing:
                await report_exclusion(self._ctx, error, period)

    def _check_turn(self, reservation: AttemptReservation) -> None:
        turn, metered = self._limits, self._ctx.tally.metered
        tokens = metered.input_tokens + metered.output_tokens + self._reserved_tokens
        if turn.tokens is not None and tokens + reservation.tokens > turn.tokens:
            raise self._turn_limit_error("Tokens", tokens, turn.tokens, reservation.tokens)
        if turn.cost is not None and reservation.micros:
            cost, needed = (metered.cost_micros + self._reserved_micros) / MICROS, reservation.micros / MICROS
            if cost + needed > turn.cost:
                raise self._turn_limit_error("Cost", cost, turn.cost, needed)

    def _turn_limit_error(
        self, name: str, used: float, allowed: float, needed: float, unit: str = ""
    ) -> BudgetExceeded:
        return BudgetExceeded(self._name_limit(name), used, allowed, needed=needed, unit=unit)

    def _name_limit(self, name: str) -> str:
        index = TURN_LIMIT_NAMES.index(name)
        is_of_type = self._limits[index] != self._settings.turn.limits[index]
        section = f"Budget.TaskTypes.{self._task_type}" if is_of_type else "Budget.Turn"
        return f"{section}.{name}"


def find_task_type(ctx: Context) -> str | None:
    """Return the task type if the turn was classified."""
    from sophon.routing.context_keys import TASK_PROFILE  # lazy: few budgets need it

    profile = ctx.get(TASK_PROFILE)
    return profile.task_type if profile is not None else None


async def report_payer_refusal(ctx: Context, payer: PayerLimits, period: Period) -> None:
    """Emit the alert that a limit of the person or task type refuses calls, once in its day or month; log it."""
    usage = ctx.services.store.usage
    spent = await usage.get_payer_spending(payer.payer, period, is_task_type=payer.is_task_type)
    alerts = build_payer_alerts(spent, payer, (), refused=True)
    # The limit that leaves the least is the one that refuses.
    alert = max(alerts, key=lambda each: each.used - each.limit)
    log.info("%s of %s refuses a call: %g of %g USD used", alert.name, payer.payer, alert.used, alert.limit)
    await send_alerts(ctx, [alert], period)
