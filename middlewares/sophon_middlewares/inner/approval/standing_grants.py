"""Standing grants in a turn: an approval in advance is offered with a question, stored with its answer, and used later.

No call of Critical risk is approved in advance, and none that a guard asks about: whoever gave the grant had not seen
what the guard has found.
"""

from sophon.approvals import ApprovalRequest, Decision, Grant
from sophon.context import Context
from sophon.events import GuardVerdict
from sophon.messages import ToolCall
from sophon.security.authorization.grant_patterns import build_grant_pattern, describe_grant_pattern, fits_grant_pattern
from sophon.stores.grants.contract import StandingGrant
from sophon.tools.tool import Risk, Tool
from sophon.turn.permissions import chat_of_turn

_FORBIDDEN_RISK = Risk.CRITICAL
"""Risk from which each call is a question of its own."""


def describe_grant_offer(call: ToolCall, tool: Tool) -> str:
    """Return which later calls an approval in advance would cover, as text for the person; empty if none may."""
    if tool.risk >= _FORBIDDEN_RISK:
        return ""
    return describe_grant_pattern(call.name, build_grant_pattern(call.name, call.arguments))


async def store_standing_grant(ctx: Context, request: ApprovalRequest, decision: Decision) -> None:
    """Store the grant that a decision gives; a resumed turn stores it again, which changes nothing.

    What is stored is what this request offers: a decision that gives more than it offers gives this call alone.
    """
    if decision.grant is None or not request.grant_offer:
        return
    now = ctx.services.clock.now()
    grant = StandingGrant(
        id=f"grt_{request.id.removeprefix('apr_')}",
        scope=decision.grant,
        principal=ctx.principal,
        session_id=ctx.session_id if decision.grant == "session" else "",
        tool=request.tool,
        risk=request.risk.label,
        pattern=build_grant_pattern(request.tool, request.arguments),
        description=request.grant_offer,
        granted_by=decision.decided_by,
        granted_at=now,
        expires_at=now + ctx.services.settings.approval.grant_expiry,
        chat=chat_of_turn(ctx),
    )
    await ctx.services.store.grants.add(grant)


async def find_standing_grant(ctx: Context, call: ToolCall, tool: Tool) -> StandingGrant | None:
    """Return the grant that covers a call of this turn, or None.

    It must have been given for the risk that the tool has now, and by somebody who may still approve such calls.
    """
    if tool.risk >= _FORBIDDEN_RISK:
        return None
    now, policy = ctx.services.clock.now(), ctx.services.security.operator_policy
    for grant in await ctx.services.store.grants.list_for_tool(now, principal=ctx.principal, tool=call.name):
        if (
            grant.covers(ctx.session_id, chat_of_turn(ctx))
            and grant.risk == tool.risk.label
            and policy.counts(tool.risk, asker=ctx.principal, decider=grant.granted_by)
            and fits_grant_pattern(grant.pattern, call.arguments)
        ):
            return grant
    return None


def use_standing_grant(ctx: Context, call: ToolCall, grant: StandingGrant, digest: str) -> None:
    """Approve a call by a grant, and say so: the event and the audit log name the grant."""
    ctx.grants[call.id] = Grant(digest, decided_by=grant.granted_by, standing=grant.id)
    if ctx.has_listeners:
        everywhere = f"all conversations of {grant.chat}" if grant.chat else "all conversations outside of groups"
        scope = "this conversation" if grant.scope == "session" else everywhere
        reason = f"{grant.granted_by or 'a person'} has allowed it for {scope}: {grant.description}"
        ctx.emit(GuardVerdict(call_id=call.id, guard="Approval", verdict="allow", rule=grant.id, reason=reason))
