"""Tier 3 of Shield on a tool call: asks a person, so often in an hour; then the call is denied at once.

Who is asked again and again approves without reading. Questions that the risk of a tool asks anyway are not counted.
"""

from sophon.context import Context
from sophon.messages import ToolCall
from sophon.security.shield.tiers import PERSON, TierVerdict
from sophon.security.sliding_windows import RateLimit
from sophon_middlewares.guards.judgement import Judgement
from sophon_middlewares.guards.shield_limits import take_slot
from sophon_middlewares.inner.approval import is_asked_by_risk
from sophon_middlewares.inner.call_checks import find_argument_error, find_call_error
from sophon_middlewares.inner.call_risk import find_call_risk
from sophon_middlewares.inner.escalations import find_escalation

SCOPE = "shield.questions"
"""Beginning of the rate window of the questions to one user that only Shield asks; `:` and the user follow."""

HOUR_SECONDS = 3600.0


async def ask_person(ctx: Context, call: ToolCall, verdict: TierVerdict) -> Judgement:
    """Return the judgement that a person must decide, or the denial if they were asked too often."""
    limit = ctx.services.settings.guards.shield.questions_per_hour
    per_hour = RateLimit("questions_per_hour", f"{SCOPE}:{ctx.principal}", limit, HOUR_SECONDS)
    if _is_only_question(ctx, call) and not await take_slot(ctx, per_hour):
        reason = f"{verdict.reason}; a person was asked {limit} times in the last hour, and is asked no more"
        return Judgement("block", per_hour.rule, reason, PERSON)
    return Judgement("escalate", verdict.rule, verdict.reason, PERSON)


def _is_only_question(ctx: Context, call: ToolCall) -> bool:
    """Return whether a person is asked about the call, for the first time, and because of Shield alone."""
    tool = ctx.services.registry.get(call.name)
    if tool is None or find_escalation(ctx, call) is not None:
        return False
    if is_asked_by_risk(ctx, tool, find_call_risk(ctx, call, tool)):
        return False
    return find_call_error(ctx, call, tool) is None and find_argument_error(tool, call.arguments) is None
