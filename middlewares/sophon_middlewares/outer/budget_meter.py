"""The meter of one turn: reserves budget before each attempt and settles it afterwards."""

from dataclasses import dataclass
from datetime import datetime

from sophon.context import Context
from sophon.errors import BudgetExceeded
from sophon.events import BudgetAlert
from sophon.messages import Usage
from sophon.models.model import ModelRequest
from sophon.settings import BudgetSettings
from sophon.stores.usage.contract import ProviderLimits, Reservation, Spending, UsageRow
from sophon_middlewares.outer.budget_periods import budget_period, end_of_day, end_of_month

MICROS = 1_000_000
UNLIMITED = ProviderLimits()
ALERT_SHARES = (0.8, 1.0)
"""Shares of a limit at which a BudgetAlert is emitted. Source: design.md 4, Budget."""


@dataclass(slots=True)
class AttemptReservation:
    """Reservation of one attempt against the turn's ceiling and, if the provider has a limit, in the usage store."""

    tokens: int
    micros: int
    limits: ProviderLimits
    provider_reservation: Reservation | None = None


class TurnMeter:
    """Enforces `Budget.Turn` and `Budget.Providers` for one turn; shared with the turn's plan steps.

    Raises BudgetExceeded with limit, use and, for a provider's limit, the time of its reset.
    """

    __slots__ = ("_ctx", "_reserved_micros", "_reserved_tokens", "_settings")

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx
        self._settings = ctx.settings.budget
        self._reserved_tokens = 0
        self._reserved_micros = 0

    async def reserve(self, request: ModelRequest, input_tokens: int) -> AttemptReservation:
        """Reserve the worst case of an attempt; see `Meter`."""
        model, max_tokens = request.model, request.max_tokens
        reservation = AttemptReservation(
            input_tokens + max_tokens,
            model.cost_micros(input_tokens, max_tokens),
            limits_for_provider(model.provider, self._settings),
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
            except BaseException:
                self._release_turn(reservation)
                raise
        return reservation

    async def settle(self, reservation: AttemptReservation, request: ModelRequest, usage: Usage) -> None:
        """Replace the reservation by the real usage; emit an alert if a limit is near or reached."""
        self._release_turn(reservation)
        ctx, model, claimed = self._ctx, request.model, reservation.provider_reservation
        ctx.tally.metered += usage
        now = ctx.services.clock.now()
        period = claimed.period if claimed is not None else budget_period(now, self._settings.time_zone)
        row = UsageRow(model.provider, model.name, request.purpose, ctx.session_id, ctx.run_id, usage, period, now)
        spent = await ctx.services.store.usage.settle(claimed, row)
        if claimed is not None:
            for alert in build_alerts(model.provider, spent, usage, reservation.limits):
                ctx.emit(alert)

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

    async def _reserve(self, provider: str, worst: Usage, limits: ProviderLimits) -> Reservation:
        now, time_zone = self._ctx.services.clock.now(), self._settings.time_zone
        result = await self._ctx.services.store.usage.reserve(provider, budget_period(now, time_zone), worst, limits)
        if isinstance(result, Reservation):
            return result
        error = exceeded_budget(provider, result, limits, now, time_zone, worst_case=worst)
        raise error or BudgetExceeded("Budget.Providers", 0, 0, provider=provider)

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
            raise _turn_limit_error("ActiveTime", seconds, allowed.total_seconds(), 0)


def limits_for_provider(provider: str, settings: BudgetSettings) -> ProviderLimits:
    """Return a provider's limits: its own entry, else the one of `*`."""
    entry = settings.providers.get(provider) or settings.providers.get("*")
    if entry is None or (entry.daily_tokens is None and entry.monthly_cost is None):
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
            "DailyTokens", spent.tokens, limits.daily_tokens, needed=tokens, provider=provider, resets_at=resets
        )
    if limits.monthly_micros is not None and spent.micros + micros + least > limits.monthly_micros:
        resets = end_of_month(now, time_zone).isoformat()
        used, allowed, needed = (each / MICROS for each in (spent.micros, limits.monthly_micros, micros))
        return BudgetExceeded("MonthlyCost", used, allowed, needed=needed, provider=provider, resets_at=resets)
    return None


def build_alerts(provider: str, spent: Spending, usage: Usage, limits: ProviderLimits) -> list[BudgetAlert]:
    """Return an alert for each share of a limit that this usage has just crossed."""
    found: list[BudgetAlert] = []
    for name, now, added, limit, unit in (
        ("DailyTokens", spent.tokens, usage.total_tokens, limits.daily_tokens, 1),
        ("MonthlyCost", spent.micros, usage.cost_micros, limits.monthly_micros, MICROS),
    ):
        if not limit:
            continue
        for share in ALERT_SHARES:
            if now - added < share * limit <= now:
                found.append(
                    BudgetAlert(provider=provider, name=name, limit=limit / unit, used=now / unit, share=share)
                )
    return found


def _turn_limit_error(name: str, used: float, allowed: float, needed: float) -> BudgetExceeded:
    return BudgetExceeded(f"Budget.Turn.{name}", used, allowed, needed=needed)
