"""Questions of `chat.ask`: the answer of a person is the result of the call, which never runs."""

from sophon.approvals import ApprovalRequest, Decision, Escalation
from sophon.builtin_tools.questions import find_question_problem, render_question
from sophon.context import Context
from sophon.messages import ToolCall
from sophon.tools.tool import Tool
from sophon_middlewares.inner.person_decisions import note_person_decision
from sophon_middlewares.inner.result_redaction import redact_result


def build_question(ctx: Context, call: ToolCall, tool: Tool, escalation: Escalation | None) -> ApprovalRequest | None:
    """Return the request of a question; None if it cannot be asked, and the call is settled with the reason."""
    problem = find_question_problem(call.arguments)
    if problem:
        ctx.settle(call, f"error: {problem}", "failed")
        return None
    preview = render_question(call.arguments)
    return ApprovalRequest.from_call(
        call,
        ctx.run_id,
        tool.risk,
        kind="question",
        preview=f"{preview}\n{escalation}" if escalation is not None else preview,
        expires_at=ctx.services.clock.now() + ctx.services.settings.approval.timeout,
        session_id=ctx.session_id,
        escalation=escalation,
    )


async def settle_question(ctx: Context, call: ToolCall, decision: Decision) -> None:
    """Settle the call with the answer, or with why there is none; `suspend` leaves it pending."""
    if decision.verdict == "suspend":
        ctx.awaiting_approval.add(call.id)
    elif decision.verdict == "answer":
        text, outcome = await redact_result(ctx, f"The person answered: {decision.reason}", "completed")
        note_person_decision(ctx, call, "answered", decision.decided_by)
        ctx.settle(call, text, outcome)
    else:
        note_person_decision(ctx, call, "rejected", decision.decided_by)
        ctx.settle(call, f"not answered: {decision.reason or 'the person did not want to answer'}", "denied")
