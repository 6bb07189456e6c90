"""Risk of a call: that which its tool finds for it, raised by the autonomy mode and by what the arguments would do."""

from sophon.context import Context
from sophon.goal_autonomy import GOAL_AUTONOMY, promote_risk
from sophon.messages import ToolCall
from sophon.risk import Risk
from sophon.security.assessed_arguments import has_assessed_arguments
from sophon.settings import ApprovalSettings
from sophon.settings.autonomy import DANGEROUS_TOOLS
from sophon.tools.tool import Tool
from sophon.turn.provenance import list_person_texts
from sophon_middlewares.tool_calls.call_checks import find_argument_error


def find_tool_risk(tool: Tool, settings: ApprovalSettings) -> Risk:
    """Return the risk of calls of a tool: in an autonomy mode, tools with dangerous names are of High risk at least."""
    is_promoted = settings.autonomy is not None and tool.name in DANGEROUS_TOOLS
    return max(tool.risk, Risk.HIGH) if is_promoted else tool.risk


def find_call_risk(ctx: Context, call: ToolCall, tool: Tool) -> Risk:
    """Return the risk by which a call is asked about. Who was named by people is no stranger to write a mail to."""
    risk = find_tool_risk(tool, ctx.services.settings.approval)
    if tool.find_risk is not None and find_argument_error(tool, call.arguments) is None:
        risk = tool.find_risk(ctx, call.arguments)
    if ctx.root.get(GOAL_AUTONOMY) is not None:
        risk = promote_risk(tool.name, risk)
    # The patterns raise to High.
    if risk >= Risk.HIGH or not has_assessed_arguments(tool.name, call.arguments):
        return risk
    # Lazy: the patterns need RE2 and the grammar of the shell.
    from sophon.security.risk_assessment import assess_risk, find_mail_addresses

    assessed = assess_risk(tool.name, call.arguments)
    if assessed > risk:
        known = {address for text in list_person_texts(ctx) for address in find_mail_addresses(text)}
        assessed = assess_risk(tool.name, call.arguments, known_recipients=known)
    return max(risk, assessed) if assessed > Risk.LOW else risk  # Low means that nothing was found
