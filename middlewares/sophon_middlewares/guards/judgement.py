"""Judgement of the pending calls by one guard: what every guard does with a verdict, and with its own failure."""

import logging
from collections.abc import Awaitable, Callable
from copy import deepcopy
from typing import TypeAlias, cast

from sophon._python.lazy_dataclass import dataclass
from sophon.chain.pipeline import Next
from sophon.context import Context
from sophon.context.context import ToolCheck
from sophon.events import GuardDecision, GuardVerdict
from sophon.extensions import Key
from sophon.messages import ToolCall
from sophon.security import describe_error
from sophon_middlewares.tool_calls.earlier_runs import find_earlier_run
from sophon_middlewares.tool_calls.escalations import Escalation, escalate

log = logging.getLogger("sophon.guards")

GUARD_FAILED = "guard_failed"
"""Rule of a verdict that a guard's own failure caused."""

PASSED = "passed"
"""Rule of Shield's verdict on a call that no tier objects to."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Verdict of a guard on a call: what it decided, by which rule, and why."""

    guard: str
    decision: GuardDecision
    rule: str
    reason: str = ""

    @property
    def identity(self) -> str:
        """Guard, decision and rule: a resumed turn is judged again, with the same verdict."""
        return f"{self.guard}/{self.decision}/{self.rule}"


_NOTED: Key[dict[str, list[Verdict]]] = Key("guards.verdicts")


@dataclass(frozen=True, slots=True)
class Judgement:
    """Verdict of a guard on a call. `rule` names what decided, `reason` is a sentence for the model and for people.

    `tier` is that of Shield, 0 for other guards.
    """

    verdict: GuardDecision
    rule: str
    reason: str
    tier: int = 0


Judge: TypeAlias = Callable[[Context, ToolCall], Awaitable[Judgement | None] | Judgement | None]
"""Judges one call, at once or when it is awaited; None if the guard has nothing to say about it.

Most calls are judged at once: each coroutine of a guard costs as much as its rule.
"""


async def judge_round(ctx: Context, next: Next, guard: str, judge: Judge, check: ToolCheck) -> None:
    """Let a guard judge the pending calls, and run the rest of the chain with its check of each call that runs.

    A blocked call is settled as denied, an escalated one waits for a person. A guard that fails blocks the call:
    nothing fails open. A call that an earlier process has run is not judged again.
    """
    if ctx.resumed or len(ctx.pending) != 1:
        await judge_pending(ctx, guard, judge)
    else:  # as `judge_pending`, without its coroutine: most rounds have one call
        call = ctx.pending[0]
        judgement = _judge(ctx, call, guard, judge)
        if judgement is not None:
            await _carry_out(ctx, call, guard, judgement)
    # As `with ctx.tool_check(check)`, which costs more than most checks.
    before = ctx.tool_checks
    ctx.tool_checks = (*before, check)
    try:
        await next(ctx)
    finally:
        ctx.tool_checks = before


async def judge_pending(ctx: Context, guard: str, judge: Judge) -> None:
    """Let a guard judge each pending call, as `judge_round` does."""
    for call in tuple(ctx.pending):
        if ctx.resumed and await find_earlier_run(ctx, call) is not None:
            continue
        judgement = _judge(ctx, call, guard, judge)
        if judgement is not None:
            await _carry_out(ctx, call, guard, judgement)


def _judge(ctx: Context, call: ToolCall, guard: str, judge: Judge) -> Awaitable[Judgement | None] | Judgement | None:
    try:
        return judge(ctx, call)
    except Exception as error:  # noqa: BLE001 - logged there; it blocks the call
        return _judge_failure(call, guard, error)


async def _carry_out(ctx: Context, call: ToolCall, guard: str, found: Awaitable[Judgement | None] | Judgement) -> None:
    judgement = await _wait(call, guard, found)
    if judgement is not None:
        apply_judgement(ctx, call, guard, judgement)


async def _wait(call: ToolCall, guard: str, found: Awaitable[Judgement | None] | Judgement | None) -> Judgement | None:
    """Return the judgement, once it is there. A guard that fails, or returns anything else, blocks the call."""
    try:
        judgement = cast(object, found if found is None or isinstance(found, Judgement) else await found)
    except Exception as error:  # noqa: BLE001 - as above
        return _judge_failure(call, guard, error)
    if judgement is None or isinstance(judgement, Judgement):
        return judgement
    return _judge_failure(call, guard, TypeError(f"it returned {type(judgement).__name__}"))


def check_edited_calls(guard: str, judge: Judge) -> ToolCheck:
    """Return the check of a guard that judges a call again if a person has edited it, immediately before it runs.

    Who may edit a call may not do by that what the guard forbids. What the guard would ask about has been decided by
    whoever edited it.
    """

    def check(ctx: Context, call: ToolCall) -> Awaitable[str | None] | None:
        grant = ctx.grants.get(call.id)
        return None if grant is None or not grant.edited else _judge_edited(ctx, call, guard, judge)

    return check


async def _judge_edited(ctx: Context, call: ToolCall, guard: str, judge: Judge) -> str | None:
    judgement = await _wait(call, guard, _judge(ctx, call, guard, judge))
    if judgement is None or judgement.verdict != "block":
        return None
    return block_at_execution(ctx, call, guard, judgement)


def _judge_failure(call: ToolCall, guard: str, error: Exception) -> Judgement:
    """Log the failure of a guard, and return the judgement that blocks the call."""
    log.error("%s failed on a call of %s, which is blocked", guard, call.name, exc_info=error)
    return Judgement("block", GUARD_FAILED, f"the check failed: {describe_error(error)}")


def apply_judgement(ctx: Context, call: ToolCall, guard: str, judgement: Judgement) -> None:
    """Announce a verdict and carry it out."""
    announce_judgement(ctx, call, guard, judgement)
    if judgement.verdict == "block":
        ctx.settle(call, format_block(guard, judgement), "denied")
    elif judgement.verdict == "escalate":
        escalate(ctx, call, Escalation(guard, judgement.rule, judgement.reason))


def block_at_execution(ctx: Context, call: ToolCall, guard: str, judgement: Judgement) -> str:
    """Announce a block by a check immediately before the call runs, and return the result of the call."""
    announce_judgement(ctx, call, guard, judgement)
    return format_block(guard, judgement)


def announce_judgement(ctx: Context, call: ToolCall, guard: str, judgement: Judgement) -> None:
    """Emit the event of a verdict and note it for the audit log."""
    note_verdict(ctx, call, Verdict(guard, judgement.verdict, judgement.rule, judgement.reason))
    if ctx.has_listeners:
        ctx.emit(
            GuardVerdict(
                call_id=call.id,
                guard=guard,
                verdict=judgement.verdict,
                rule=judgement.rule,
                tier=judgement.tier,
                reason=judgement.reason,
                tool=call.name,
                arguments=deepcopy(dict(call.arguments)) if judgement.verdict == "block" else {},
            )
        )


def format_block(guard: str, judgement: Judgement) -> str:
    """Return the result of a blocked call, which the model reads."""
    return f"blocked by {guard} ({judgement.rule}): {judgement.reason}"


def collect_verdicts(ctx: Context) -> None:
    """Have verdicts noted from now on; without an audit log nobody would take them."""
    if ctx.get(_NOTED) is None:
        ctx.put(_NOTED, {})


def note_verdict(ctx: Context, call: ToolCall, verdict: Verdict) -> None:
    """Note a verdict, if verdicts are collected."""
    noted = ctx.get(_NOTED)
    if noted is not None:
        noted.setdefault(call.id, []).append(verdict)


def take_verdicts(ctx: Context, call_id: str) -> list[Verdict]:
    """Return the verdicts on a call that were noted since the last time."""
    noted = ctx.get(_NOTED)
    return noted.pop(call_id, []) if noted is not None else []
