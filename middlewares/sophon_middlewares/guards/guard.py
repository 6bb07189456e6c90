"""Guard: how each guard judges the pending calls of a round, and what happens with its verdict and its own failure."""

import logging
from collections.abc import Awaitable
from copy import deepcopy
from typing import cast

from sophon._python.lazy_dataclass import dataclass
from sophon.chain.pipeline import Next
from sophon.context import Context
from sophon.events import GuardDecision, GuardVerdict
from sophon.extensions import Key
from sophon.messages import ToolCall
from sophon.security import describe_error
from sophon_middlewares.tool_calls.calls_started_earlier import find_earlier_run
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


class Guard:
    """Base class of guards: judges each pending call of a round with `judge`, and has `check` look at each call again
    immediately before it runs.

    A blocked call is settled as denied, an escalated one waits for a person. A guard that fails, or returns anything
    else than a judgement, blocks the call: nothing fails open. A call that an earlier process has run is not judged
    again.
    """

    zone = "inner"
    unique = True
    calls_next = True
    requires: tuple[str, ...] = ("ToolExecution",)
    settling_only = True

    def judge(self, ctx: Context, call: ToolCall) -> Awaitable[Judgement | None] | Judgement | None:
        """Return the verdict on a call, at once or when it is awaited; None if there is nothing to say about it.

        Most calls are judged at once: each coroutine of a guard costs as much as its rule.
        """
        raise NotImplementedError

    def check(self, ctx: Context, call: ToolCall) -> Awaitable[str | None] | str | None:
        """Return why a call must not run, immediately before it does: here, because `judge` blocks it as a person has
        edited it.

        Who may edit a call may not do by that what the guard forbids. What the guard would ask about has been decided
        by whoever edited it.
        """
        grant = ctx.grants.get(call.id)
        return None if grant is None or not grant.edited else self._judge_edited(ctx, call)

    async def __call__(self, ctx: Context, next: Next, /) -> None:
        for call in tuple(ctx.pending):
            if ctx.resumed and await find_earlier_run(ctx, call) is not None:
                continue
            try:
                found = self.judge(ctx, call)
                judgement = found if found is None or isinstance(found, Judgement) else await _wait(found)
            except Exception as error:  # noqa: BLE001 - logged there; it blocks the call
                judgement = _judge_failure(call, self.name, error)
            if judgement is not None:
                apply_judgement(ctx, call, self.name, judgement)
        # As `with ctx.tool_check(self.check)`, which costs more than most checks.
        before = ctx.tool_checks
        ctx.tool_checks = (*before, self.check)
        try:
            await next(ctx)
        finally:
            ctx.tool_checks = before

    @property
    def name(self) -> str:
        """Name of the guard in verdicts and messages."""
        return type(self).__name__

    async def _judge_edited(self, ctx: Context, call: ToolCall) -> str | None:
        try:
            found = self.judge(ctx, call)
            judgement = found if found is None or isinstance(found, Judgement) else await _wait(found)
        except Exception as error:  # noqa: BLE001 - as above
            judgement = _judge_failure(call, self.name, error)
        if judgement is None or judgement.verdict != "block":
            return None
        return block_at_execution(ctx, call, self.name, judgement)


async def _wait(found: Awaitable[Judgement | None]) -> Judgement | None:
    judgement = cast(object, await found)
    if judgement is None or isinstance(judgement, Judgement):
        return judgement
    raise TypeError(f"it returned {type(judgement).__name__}")


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


def note_verdict(ctx: Context, call: ToolCall, verdict: Verdict) -> None:
    """Note a verdict until an audit log takes it, or the turn ends."""
    noted = ctx.get(_NOTED)
    if noted is None:
        noted = dict[str, list[Verdict]]()
        ctx.put(_NOTED, noted)
    noted.setdefault(call.id, []).append(verdict)


def take_verdicts(ctx: Context, call_id: str) -> list[Verdict]:
    """Return the verdicts on a call that were noted since the last time."""
    noted = ctx.get(_NOTED)
    return noted.pop(call_id, []) if noted is not None else []
