"""The meter of one turn: asked before every attempt of every model call, told after."""

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
"""Source: design.md 4, Budget."""


@dataclass(slots=True)
class Claim:
    """One attempt's claim on the turn's ceiling, and on the books of a provider that has a limit."""

    tokens: int
    micros: int
    limits: Limits
    reservation: Reservation | None = None


class TurnMeter:
    """Holds the turn to `Budget.Turn` and its providers to `Budget.Providers`; shared with the turn's plan steps.

    Raises BudgetExceeded, naming limit, use and, for a provider's limit, when it resets.
    """

    __slots__ = ("_claimed_micros", "_claimed_tokens", "_ctx", "_settings")

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx
        self._settings = ctx.settings.budget
        self._claimed_tokens = 0
        self._claimed_micros = 0

    async def reserve(self, request: ModelRequest, input_tokens: int) -> Claim:
        """Claim the worst case of an attempt; see `Meter`."""
        model, max_tokens = request.model, request.max_tokens
        claim = Claim(
            input_tokens + max_tokens,
            model.cost_micros(input_tokens, max_tokens),
            limits_of(model.provider, self._settings),
        )
        self._check_turn(claim)
        # Before the first await: the steps of a plan ask at the same time, and share the turn's ceiling.
        self._claimed_tokens += claim.tokens
        self._claimed_micros += claim.micros
        if claim.limits is not UNLIMITED:
            try:
                claim.reservation = await self._reserve(
                    model.provider, Usage(input_tokens, max_tokens, claim.micros), claim.limits
                )
            except BaseException:
                self._unclaim(claim)
                raise
        return claim

    async def settle(self, reservation: Claim, request: ModelRequest, usage: Usage) -> None:
        """Replace the claim by what the attempt cost; alert when a limit is near or met."""
        self._unclaim(reservation)
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
        """Give the claim back."""
        self._unclaim(reservation)
        if reservation.reservation is not None:
            await self._ctx.services.store.usage.release(reservation.reservation)

    def tool_call(self) -> None:
        """Count a tool call that is about to run."""
        used, allowed = self._ctx.tally.tool_calls, self._settings.turn.tool_calls
        if allowed is not None and used >= allowed:
            raise _passed("ToolCalls", used, allowed, 1)
        self._check_time()

    async def _reserve(self, provider: str, worst: Usage, limits: Limits) -> Reservation:
        now, time_zone = self._ctx.services.clock.now(), self._settings.time_zone
        claim = await self._ctx.services.store.usage.reserve(provider, period_of(now, time_zone), worst, limits)
        if isinstance(claim, Reservation):
            return claim
        error = over(provider, claim, limits, now, time_zone, claim=worst)
        raise error or BudgetExceeded("Budget.Providers", 0, 0, provider=provider)

    def _unclaim(self, claim: Claim) -> None:
        self._claimed_tokens -= claim.tokens
        self._claimed_micros -= claim.micros

    def _check_turn(self, claim: Claim) -> None:
        turn, metered = self._settings.turn, self._ctx.tally.metered
        tokens = metered.input_tokens + metered.output_tokens + self._claimed_tokens
        if turn.tokens is not None and tokens + claim.tokens > turn.tokens:
            raise _passed("Tokens", tokens, turn.tokens, claim.tokens)
        if turn.cost is not None and claim.micros:
            cost, needed = (metered.cost_micros + self._claimed_micros) / MICROS, claim.micros / MICROS
            if cost + needed > turn.cost:
                raise _passed("Cost", cost, turn.cost, needed)
        self._check_time()

    def _check_time(self) -> None:
        allowed = self._settings.turn.active_time
        if allowed is not None and (seconds := self._ctx.watch.seconds) > allowed.total_seconds():
            raise _passed("ActiveTime", seconds, allowed.total_seconds(), 0)


def limits_of(provider: str, settings: BudgetSettings) -> Limits:
    """A provider's limits: its own entry, else the one of `*`."""
    entry = settings.providers.get(provider) or settings.providers.get("*")
    if entry is None or (entry.daily_tokens is None and entry.monthly_cost is None):
        return UNLIMITED
    cost = entry.monthly_cost
    return Limits(entry.daily_tokens, None if cost is None else round(cost * MICROS))


def over(
    provider: str, spent: Spent, limits: Limits, now: datetime, time_zone: str, *, claim: Usage | None = None
) -> BudgetExceeded | None:
    """Which limit is met, or would be passed by `claim`, as the error that says so."""
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
    """The shares of each limit that this usage has just passed."""
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


def _passed(name: str, used: float, allowed: float, needed: float) -> BudgetExceeded:
    return BudgetExceeded(f"Budget.Turn.{name}", used, allowed, needed=needed)
