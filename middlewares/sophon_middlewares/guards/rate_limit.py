"""RateLimit: limits how often tools are used, by capability level, by tool, and over all."""

from collections.abc import Awaitable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from sophon.approvals import Grant
from sophon.chain.pipeline import Next
from sophon.context import Context
from sophon.extensions import Key
from sophon.messages import ToolCall, ToolResult
from sophon.risk import Risk
from sophon.security.action_types import find_action_type
from sophon.security.authorization.capability_levels import find_capability_level
from sophon.security.sliding_windows import RateExceeded, Reservation, round_up_seconds
from sophon.security.sliding_windows import RateLimit as Limit
from sophon.settings.sections.rate_limits import RateLimitSettings
from sophon.stores.rate_windows.contract import RateEvent
from sophon_middlewares.guards.guard import Guard, Judgement, announce_judgement, block_at_execution
from sophon_middlewares.tool_calls.escalations import get_round_values

HOUR_SECONDS = 3600.0
MINUTE_SECONDS = 60.0

MAX_KNOWN_LIMITS = 1000
"""Limits of calls that are kept: those of as many tools and persons."""

WARNING_SHARE = 0.8
"""Share of a limit from which on the result of a call says how many are left: the model can still plan with them."""

SMALLEST_WARNED = 5
"""Smallest limit that is warned of: four fifths of a smaller one are all of it."""

LEVEL_RULE = "level_"
"""How the rules of the limits by level begin."""

OVERALL_SCOPE = "calls"
"""Scope of the calls of all turns."""

_RESERVED: Key[dict[str, Reservation]] = Key("rate_limit.reserved")
"""Slots of the pending calls, by call id."""

_WARNINGS: Key[dict[str, str]] = Key("rate_limit.warnings")
"""What is added to the results of calls, by call id."""


class RateLimit(Guard):
    """Blocks a call beyond a limit of `Guards.RateLimit`: of all calls, of a person's, of the tool's level or its own,
    its cool-down.

    The limits of a tool are per person. A call reserves its slot when it is judged, counts from the moment it runs,
    and gives the slot back if it does not run. A call that a person has approved, itself or in advance, does not count
    against the limit of its level, which bounds what nobody was asked about. From 80 % of an hour's limit on the result
    says how many calls are left. Sliding windows; a new process starts with those of the earlier one
    (`sophon.security.sliding_windows`). The numbers by level are those of WASP (capability levels).
    """

    after = ("AgenticLoop", "ParallelExecution")
    before = ("Integrity", "Protection", "Approval", "ToolExecution", "LlmInvoker")
    settling_only = True
    acts = {"tool call": "blocks a call beyond the limits per level, per tool and over all"}

    def __init__(self) -> None:
        self._settings: RateLimitSettings | None = None
        self._limits: dict[tuple[str, Risk, str], Sequence[Limit]] = {}

    async def __call__(self, ctx: Context, next: Next, /) -> None:
        calls = tuple(ctx.pending)
        try:
            with ctx.result_hook(_warn):
                await super().__call__(ctx, next)
        finally:
            reservations = ctx.get(_RESERVED) or {}
            for call in calls:
                if (reservation := reservations.pop(call.id, None)) is not None:
                    reservation.release()

    def judge(self, ctx: Context, call: ToolCall) -> Awaitable[Judgement | None] | Judgement | None:
        """Reserve a slot for the call."""
        tool = ctx.services.registry.get(call.name)
        risk = tool.risk if tool is not None else Risk.NONE  # an unknown tool does not run
        limits = self._find_limits(ctx.settings.guards.rate_limit, call.name, risk, ctx.principal)
        reserved = ctx.services.security.rate_windows.reserve_known(limits, ctx.services.clock)
        if reserved is None:
            return _load_and_judge(ctx, call, limits)
        return _note_reserved(ctx, call, reserved)

    def check(self, ctx: Context, call: ToolCall) -> Awaitable[None] | str | None:
        """Count a call immediately before it runs; a host stores that with the journal entry of the call."""
        reservation = (ctx.get(_RESERVED) or {}).pop(call.id, None)
        if reservation is None:
            return block_at_execution(ctx, call, "RateLimit", Judgement("block", "not_judged", "it was never judged"))
        grant, now = ctx.grants.get(call.id), ctx.services.clock.now()
        limits = reservation.limits if grant is None else choose_counted(reservation.limits, grant)
        used = reservation.use(ctx.services.clock.monotonic(), limits)
        if (warning := describe_near_limit(used)) is not None:
            get_round_values(ctx, _WARNINGS)[call.id] = warning
        if not limits or reservation.is_stored:
            return None
        return ctx.services.store.rate_windows.add([RateEvent(limit.scope, now) for limit in limits])

    def _find_limits(self, settings: RateLimitSettings, tool: str, risk: Risk, principal: str) -> Sequence[Limit]:
        """Return `find_limits`, which is the same for every call of a tool by a person."""
        if settings is not self._settings or len(self._limits) >= MAX_KNOWN_LIMITS:
            self._settings, self._limits = settings, {}
        limits = self._limits.get((tool, risk, principal))
        if limits is None:
            limits = self._limits[tool, risk, principal] = find_limits(settings, tool, risk, principal)
        return limits


async def _load_and_judge(ctx: Context, call: ToolCall, limits: Sequence[Limit]) -> Judgement | None:
    services = ctx.services
    reserved = await services.security.rate_windows.reserve(limits, services.clock, services.store.rate_windows.load)
    return _note_reserved(ctx, call, reserved)


def _note_reserved(ctx: Context, call: ToolCall, reserved: Reservation | RateExceeded) -> Judgement | None:
    if isinstance(reserved, RateExceeded):
        return judge_exceeded(reserved, ctx.services.clock.now())
    reservations = ctx.get(_RESERVED)
    if reservations is None:
        reservations = dict[str, Reservation]()
        ctx.put(_RESERVED, reservations)
    reservations[call.id] = reserved  # until `__call__` releases it
    return None


def _warn(ctx: Context, call: ToolCall, result: ToolResult) -> None:
    """Add to the result of a call how many are left, and say it to whoever watches the turn."""
    if (warning := (ctx.get(_WARNINGS) or {}).pop(call.id, None)) is not None:
        ctx.results[call.id] = replace(result, text=f"{result.text}\n\nnote: {warning}")
        announce_judgement(ctx, call, "RateLimit", Judgement("allow", "near_limit", warning))


def choose_counted(limits: Sequence[Limit], grant: Grant) -> Sequence[Limit]:
    """Return the limits that a call counts against: not that of its level if a person has approved it."""
    if not (grant.decided_by or grant.standing):
        return limits
    return [each for each in limits if not each.rule.startswith(LEVEL_RULE)]


def describe_near_limit(used: Sequence[tuple[Limit, int]]) -> str | None:
    """Return how many calls are left of the first limit per hour that is used to four fifths; None if none is."""
    for limit, count in used:
        if limit.seconds == HOUR_SECONDS and limit.count >= SMALLEST_WARNED and count >= WARNING_SHARE * limit.count:
            return f"{limit.what} may be used {limit.count} times per hour; {max(limit.count - count, 0)} are left"
    return None


def find_limits(settings: RateLimitSettings, tool: str, risk: Risk, principal: str) -> Sequence[Limit]:
    """Return the limits of a call, that of all calls first, then that of the person.

    An own limit of the tool replaces that of its level.
    """
    level = find_capability_level(find_action_type(tool), risk)
    own = settings.tools.get(tool)
    per_minute = settings.person_calls_per_minute
    per_hour: int | None = getattr(settings.levels, level, None)
    limits: list[Limit] = []
    if settings.calls_per_minute is not None and level != "safe":
        limits.append(
            Limit("all_calls", OVERALL_SCOPE, settings.calls_per_minute, MINUTE_SECONDS, "all tools together")
        )
    if per_minute is not None and level != "safe":
        what = "all tools of a person together"
        limits.append(Limit("person_calls", f"{OVERALL_SCOPE}/{principal}", per_minute, MINUTE_SECONDS, what))
    if own is not None and own.per_hour is not None:
        limits.append(Limit("tool_limit", f"tool/{tool}/{principal}", own.per_hour, HOUR_SECONDS, tool))
    elif per_hour is not None:
        what = f"{tool}, a tool of the level {level},"
        limits.append(Limit(f"{LEVEL_RULE}{level}", f"tool/{tool}/{principal}", per_hour, HOUR_SECONDS, what))
    if own is not None and own.cooldown is not None:
        limits.append(Limit("cooldown", f"cooldown/{tool}/{principal}", 1, own.cooldown.total_seconds(), tool))
    return limits


def judge_exceeded(exceeded: RateExceeded, now: datetime) -> Judgement:
    """Return the verdict on a call beyond a limit: the limit, and when the call is possible again."""
    limit = exceeded.limit
    times = "once" if limit.count == 1 else f"{limit.count} times"
    period = {HOUR_SECONDS: "per hour", MINUTE_SECONDS: "per minute"}.get(
        limit.seconds, f"in {limit.seconds:g} seconds"
    )
    if exceeded.retry_after_seconds is None:
        again = "once a call that is waiting or running has ended"
    else:
        seconds = round_up_seconds(exceeded.retry_after_seconds)
        at = now + timedelta(seconds=seconds)
        again = f"in {seconds} {'second' if seconds == 1 else 'seconds'}, at {at:%H:%M:%S} UTC"
    reason = f"{limit.what} may be used {times} {period}, and that is reached; possible again {again}"
    return Judgement("block", limit.rule, reason)
