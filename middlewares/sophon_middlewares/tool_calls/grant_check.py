"""Grant check: whether a tool call that needs an approval has one, for exactly these arguments (by their digest)."""

from sophon.approvals import compute_call_digest
from sophon.context import Context
from sophon.messages import ToolCall
from sophon.security.action_types import has_lasting_effect
from sophon.tools.tool import Risk, Tool
from sophon.turn.provenance import has_read_untrusted
from sophon_middlewares.tool_calls.escalations import find_escalation

LASTING_REFUSAL = (
    "changes what outlasts this conversation, which has read text of others, and nobody has approved this call"
)


def find_grant_error(ctx: Context, call: ToolCall, tool: Tool) -> str | None:
    """Return why a call must not run: it was approved with other arguments, or is of High risk or above, or escalated
    by a guard, or has a lasting effect after untrusted text, and was not approved; None if it may run.
    """
    grant = ctx.grants.get(call.id)
    escalation = find_escalation(ctx, call)
    if grant is None and escalation is not None:
        return f"{escalation.guard} asks a person about {call.name} ({escalation.reason}), and nobody has approved it"
    if grant is None and has_lasting_effect(tool.name, tool.lasting) and has_read_untrusted(ctx):
        return f"{call.name} {LASTING_REFUSAL}"
    if grant is None and tool.risk < Risk.HIGH:
        return None
    if grant is None:
        return f"{call.name} is of {tool.risk.label} risk and nobody has approved this call"
    if grant.digest != compute_call_digest(ctx.run_id, call):
        return f"this call of {call.name} is not the one that was approved"
    return None
