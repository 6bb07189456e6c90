"""Authorization: a tool runs only if the principal of the turn has the permission for it."""

from sophon.chain.pipeline import Next
from sophon.context import Context
from sophon.events import GuardVerdict
from sophon.messages import ToolCall
from sophon.security import describe_error
from sophon.turn.permissions import ToolPermissions, find_tool_permissions
from sophon_middlewares.guards.guard import (
    GUARD_FAILED,
    Guard,
    Judgement,
    Verdict,
    format_block,
    note_verdict,
)
from sophon_middlewares.tool_calls.call_checks import offer_permitted

NAME = "Authorization"

NOT_PERMITTED = "not_permitted"
"""Rule of a call that nothing allows; one that a rule of the settings denies has `rule_N`, N counted from 1."""


class Authorization(Guard):
    """Blocks calls of tools for which the turn's principal has no permission, and does not offer these to the model.

    The permission comes from the principal's level (`Permissions`) and the access control list
    (`Guards.Authorization.Rules`): a deny wins, and what nothing allows is denied. It is checked when the call is
    proposed and again immediately before it runs, since time, cost and settings may have changed meanwhile. Where
    `Guards.Authorization.Enabled` is false, or nothing is denied to anybody, calls pass unjudged.
    """

    after = ("AgenticLoop", "ParallelExecution", "Audit")
    before = ("Integrity", "Protection", "Approval", "ToolExecution", "LlmInvoker")
    acts = {
        "model call": "offers only the tools that the principal of the turn may use",
        "tool call": "blocks a tool that the principal of the turn may not use",
    }

    async def __call__(self, ctx: Context, next: Next, /) -> None:
        if not ctx.settings.guards.authorization.enabled:
            await next(ctx)
            return
        if not ctx.settling:
            offer_permitted(ctx)
            await next(ctx)
            return
        await super().__call__(ctx, next)

    def judge(self, ctx: Context, call: ToolCall) -> Judgement | None:
        """Block a tool for which the principal has no permission."""
        return judge_tool(find_tool_permissions(ctx), call.name)

    def check(self, ctx: Context, call: ToolCall) -> str | None:
        """Judge again, as of now."""
        try:
            judgement = judge_tool(find_tool_permissions(ctx), call.name)
        except Exception as error:  # noqa: BLE001 - a failed check blocks, and says so like every other verdict
            judgement = Judgement("block", GUARD_FAILED, f"the check failed: {describe_error(error)}")
        if judgement is None:
            return None
        note_verdict(ctx, call, Verdict(NAME, judgement.verdict, judgement.rule, judgement.reason))
        if ctx.has_listeners:
            ctx.emit(
                GuardVerdict(call_id=call.id, guard=NAME, verdict="block", rule=judgement.rule, reason=judgement.reason)
            )
        return format_block(NAME, judgement)


def judge_tool(permissions: ToolPermissions, tool: str) -> Judgement | None:
    """Return why a tool may not be used, or None if it may."""
    decision = permissions.decide(tool)
    if decision.allowed:
        return None
    who = f"{permissions.principal or 'this turn'} (level {permissions.level.label})"
    if decision.rule is not None:
        return Judgement("block", f"rule_{decision.rule}", f"a rule denies {tool} to {who}")
    return Judgement("block", NOT_PERMITTED, f"{who} has no permission for {tool}")
