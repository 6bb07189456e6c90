"""The meter of one turn: reserves budget before each attempt and settles it afterwards."""

from datetime import datetime

from sophon.context import Context
from sophon.context.usage_counts import UsageCounts
from sophon.errors import BudgetExceeded, PriceUnknown
from sophon.events import BudgetAlert
from sophon.lazy_dataclass import dataclass
from sophon.messages import Usage
from sophon.models.cost_limits import find_blind_cost_limit
from sophon.models.model import ModelInfo, ModelRequest
from sophon.settings import BudgetSettings
from sophon.stores.usage.contract import Period, ProviderLimits, Reservation, Spending, UsageRow
from sophon_middlewares.outer.budget_notices import (
    DAILY_TOKENS,
    MICROS,
    MONTHLY_COST,
    build_alerts,
    report_exclusion,
    send_alerts,
)
from sophon_middlewares.outer.budget_periods import budget_period, end_of_day, end_of_month

UNLIMITED = ProviderLimits()


@dataclass(slots=True)
class AttemptReservation:
    """Reservation of one attempt against the turn's ceiling and, if the provider has a limit, in the usage store."""

    tokens: int
    micros: int
    limits: ProviderLimits
    provider_reservation: Reservation | None = None


class TurnMeter:
    """Enforces `Budget.Turn` and `Budget.Providers` for one turn; shared with the turn's plan steps.

    An attempt with a provider that has a limit is reserved and settled in the store. The others are only counted, and
    handed over together at the end of the turn (usage_recording.py); until then the counts are part of its state.

    Raises BudgetExceeded with limit, use and, for a provider's limit, the time of its reset; PriceUnknown for a model
    whose cost a limit could not see. A provider that refuses is reported once in a turn.
    """

    __slots__ = ("_alerted", "_ctx", "_has_limits", "_reported", "_reserved_micros", "_reserved_tokens", "_settings")

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx
        self._settings = ctx.services.settings.budget
        self._has_limits = self._settings.has_provider_limits
        self._reserved_tokens = 0
        self._reserved_micros = 0
        self._reported: set[tuple[str | None, str]] = set()
        self._alerted: set[tuple[str, str, float, Period]] = set()

    async def reserve(self, request: ModelRequest, input_tokens: int) -> AttemptReservation:
        """Reserve the worst case of an attempt; see `Meter`."""
        model, max_tokens = request.model, request.max_tokens
        if (
            model.prices is None
            and model.hosting != "local"
            and (error := find_price_error(model, self._settings)) is not None
        ):
            await self._report(error)
            raise error
        reservation = AttemptReservation(
            input_tokens + max_tokens,
            model.worst_cost_micros(input_tokens, max_tokens),
            limits_for_provider(model.provider, self._settings) if self._has_limits else UNLIMITED,
        )
        self._check_turn(reservation)
        # Before the first await: concurrent plan steps share the turn's ceiling.
        self._reserved_tokens += reservation.tokens
        self._reserved_micros += reservation.micros
        if reservation.limits is not UNLIMITED:
            try:
                reservation.provider_reservation = await self._reserve(
                    model.provider, Usage(input_tokens, max_tokens, reservation.micros), reservation.limits
                )
            except BaseException as error:
                self._release_turn(reservation)
                if isinstance(error, BudgetExceeded):
                    await self._report(error)
                raise
        return reservation

    async def settle(self, reservation: AttemptReservation, request: ModelRequest, usage: Usage) -> None:
        """Replace the reservation by the real usage; emit an alert if a limit is near or reached."""
        self._release_turn(reservation)
        ctx, model, claimed = self._ctx, request.model, reservation.provider_reservation
        ctx.tally.metered.add(usage)
        now = ctx.services.clock.now()
        if claimed is None:
            self._count(request, usage, budget_period(now, self._settings.time_zone))
            return
        period = claimed.period
        row = UsageRow(model.provider, model.name, request.purpose, ctx.session_id, ctx.run_id, usage, period, now)
        spent = await ctx.services.store.usage.settle(claimed, row)
        await self._send_alerts(model.provider, spent, reservation.limits, period)

    async def release(self, reservation: AttemptReservation) -> None:
        """Release the reservation without usage."""
        self._release_turn(reservation)
        if reservation.provider_reservation is not None:
            await self._ctx.services.store.usage.release(reservation.provider_reservation)

    def reserve_tool_call(self) -> None:
        """Check the limits for a tool call that is about to run."""
        used, allowed = self._ctx.tally.tool_calls, self._settings.turn.tool_calls
        if allowed is not None and used >= allowed:
            raise _turn_limit_error("ToolCalls", used, allowed, 1)
        self._check_time()

    def _count(self, request: ModelRequest, usage: Usage, period: Period) -> None:
        model, unrecorded = request.model, self._ctx.tally.unrecorded
        key = (period.day, period.month, model.provider, model.name, request.purpose)
        counts = unrecorded.get(key)
        if counts is None:
            counts = unrecorded[key] = UsageCounts()
        counts.add(usage)

    async def _reserve(self, provider: str, worst: Usage, limits: ProviderLimits) -> Reservation:
        now, time_zone = self._ctx.services.clock.now(), self._settings.time_zone
        result = await self._ctx.services.store.usage.reserve(provider, budget_period(now, time_zone), worst, limits)
        if isinstance(result, Reservation):
            return result
        assert isinstance(result, Spending)  # no limits of a person were given
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
        self._alerted.update((each.provider, each.name, each.share, period) for each in alerts)

    def _new_alerts(self, provider: str, spent: Spending, limits: ProviderLimits, period: Period) -> list[BudgetAlert]:
        """Return the alerts that this turn has not sent: the store knows them all, but every question is a write."""
        return [
            each
            for each in build_alerts(provider, spent, limits)
            if (each.provider, each.name, each.share, period) not in self._alerted
        ]

    async def _report(self, error: BudgetExceeded) -> None:
        key = (error.provider, error.limit)
        if key not in self._reported:
            self._reported.add(key)
            now = self._ctx.services.clock.now()
            await report_exclusion(self._ctx, error, budget_period(now, self._settings.time_zone))

    def _release_turn(self, reservation: AttemptReservation) -> None:
        self._reserved_tokens -= reservation.tokens
        self._reserved_micros -= reservation.micros

    def _check_turn(self, reservation: AttemptReservation) -> None:
        turn, metered = self._settings.turn, self._ctx.tally.metered
        tokens = metered.input_tokens + metered.output_tokens + self._reserved_tokens
        if turn.tokens is not None and tokens + reservation.tokens > turn.tokens:
            raise _turn_limit_error("Tokens", tokens, turn.tokens, reservation.tokens)
        if turn.cost is not None and reservation.micros:
            cost, needed = (metered.cost_micros + self._reserved_micros) / MICROS, reservation.micros / MICROS
            if cost + needed > turn.cost:
                raise _turn_limit_error("Cost", cost, turn.cost, needed)
        self._check_time()

    def _check_time(self) -> None:
        allowed = self._settings.turn.active_time
        if allowed is not None and (seconds := self._ctx.stopwatch.seconds) > allowed.total_seconds():
            raise _turn_limit_error("ActiveTime", seconds, allowed.total_seconds(), 0, "seconds of work")


def find_price_error(model: ModelInfo, settings: BudgetSettings) -> PriceUnknown | None:
    """Return the error for a model whose unknown price would keep a limit on the cost from ever being reached."""
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


def _turn_limit_error(name: str, used: float, allowed: float, needed: float, unit: str = "") -> BudgetExceeded:
    return BudgetExceeded(f"Budget.Turn.{name}", used, allowed, needed=needed, unit=unit)
