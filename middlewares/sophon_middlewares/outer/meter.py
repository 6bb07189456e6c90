"""The meter of one turn: reserves budget before each attempt and settles it afterwards."""

from dataclasses import dataclass
from datetime import datetime

from sophon.context import Context
from sophon.errors import BudgetExceeded
from sophon.events import BudgetAlert
from sophon.messages import Usage
from sophon.models.model import ModelRequest
from sophon.settings import BudgetSettings
from sophon.stores.contracts import Limits, Reservation, Spent, UsageRow
from sophon_middlewares.outer.periods import day_ends, month_ends, period_of

MICROS = 1_000_000
UNLIMITED = Limits()
ALERT_SHARES = (0.8, 1.0)
"""Shares of a limit at which a BudgetAlert is emitted. Source: design.md 4, Budget."""


@dataclass(slots=True)
class Claim:
    """Reservation of one attempt against the turn's ceiling and, if the provider has a limit, in the usage store."""

    tokens: int
    micros: int
    limits: Limits
    reservation: Reservation | None = None


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

    async def reserve(self, request: ModelRequest, input_tokens: int) -> Claim:
        """Reserve the worst case of an attempt; see `Meter`."""
        model, max_tokens = request.model, request.max_tokens
        reservation = Claim(
            input_tokens + max_tokens,
            model.cost_micros(input_tokens, max_tokens),
            limits_of(model.provider, self._settings),
        )
        self._check_turn(reservation)
        # Before the first await: concurrent plan steps share the turn's ceiling.
        self._reserved_tokens += reservation.tokens
        self._reserved_micros += reservation.micros
        if reservation.limits is not UNLIMITED:
            try:
                reservation.reservation = await self._reserve(
                    model.provider, Usage(input_tokens, max_tokens, reservation.micros), reservation.limits
                )
            except BaseException:
                self._release_turn(reservation)
                raise
        return reservation

    async def settle(self, reservation: Claim, request: ModelRequest, usage: Usage) -> None:
        """Replace the reservation by the real usage; emit an alert if a limit is near or reached."""
        self._release_turn(reservation)
        ctx, model, claimed = self._ctx, request.model, reservation.reservation
        ctx.tally.metered += usage
        now = ctx.services.clock.now()
        period = claimed.period if claimed is not None else period_of(now, self._settings.time_zone)
        row = UsageRow(model.provider, model.name, request.purpose, ctx.session_id, ctx.run_id, usage, period, now)
        spent = await ctx.services.store.usage.settle(claimed, row)
        if claimed is not None:
            for alert in alerts(model.provider, spent, usage, reservation.limits):
                ctx.emit(alert)

    async def release(self, reservation: Claim) -> None:
        """Release the reservation without usage."""
        self._release_turn(reservation)
        if reservation.reservation is not None:
            await self._ctx.services.store.usage.release(reservation.reservation)

    def tool_call(self) -> None:
        """Check the limits for a tool call that is about to run."""
        used, allowed = self._ctx.tally.tool_calls, self._settings.turn.tool_calls
        if allowed is not None and used >= allowed:
            raise _turn_limit_error("ToolCalls", used, allowed, 1)
        self._check_time()

    async def _reserve(self, provider: str, worst: Usage, limits: Limits) -> Reservation:
        now, time_zone = self._ctx.services.clock.now(), self._settings.time_zone
        result = await self._ctx.services.store.usage.reserve(provider, period_of(now, time_zone), worst, limits)
        if isinstance(result, Reservation):
            return result
        error = over(provider, result, limits, now, time_zone, claim=worst)
        raise error or BudgetExceeded("Budget.Providers", 0, 0, provider=provider)

    def _release_turn(self, reservation: Claim) -> None:
        self._reserved_tokens -= reservation.tokens
        self._reserved_micros -= reservation.micros

    def _check_turn(self, reservation: Claim) -> None:
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
        if allowed is not None and (seconds := self._ctx.watch.seconds) > allowed.total_seconds():
            raise _turn_limit_error("ActiveTime", seconds, allowed.total_seconds(), 0)


def limits_of(provider: str, settings: BudgetSettings) -> Limits:
    """Return a provider's limits: its own entry, else the one of `*`."""
    entry = settings.providers.get(provider) or settings.providers.get("*")
    if entry is None or (entry.daily_tokens is None and entry.monthly_cost is None):
        return UNLIMITED
    cost = entry.monthly_cost
    return Limits(entry.daily_tokens, None if cost is None else round(cost * MICROS))


def over(
    provider: str, spent: Spent, limits: Limits, now: datetime, time_zone: str, *, claim: Usage | None = None
) -> BudgetExceeded | None:
    """Return the error for the limit that is reached, or that `claim` would exceed; None if there is none."""
    tokens, micros = (claim.total_tokens, claim.cost_micros) if claim is not None else (0, 0)
    least = int(claim is None)
    if limits.daily_tokens is not None and spent.tokens + tokens + least > limits.daily_tokens:
        resets = day_ends(now, time_zone).isoformat()
        return BudgetExceeded(
            "DailyTokens", spent.tokens, limits.daily_tokens, needed=tokens, provider=provider, resets_at=resets
        )
    if limits.monthly_micros is not None and spent.micros + micros + least > limits.monthly_micros:
        resets = month_ends(now, time_zone).isoformat()
        used, allowed, needed = (each / MICROS for each in (spent.micros, limits.monthly_micros, micros))
        return BudgetExceeded("MonthlyCost", used, allowed, needed=needed, provider=provider, resets_at=resets)
    return None


def alerts(provider: str, spent: Spent, usage: Usage, limits: Limits) -> list[BudgetAlert]:
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
