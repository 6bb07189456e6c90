"""Approval of a plan: asks a person before a plan with a risky step runs."""

from sophon.approvals import ApprovalRequest, Decision
from sophon.context import Context
from sophon.messages import Response, ToolCall
from sophon.plans import Plan, PlanStep
from sophon.settings import ApprovalSettings
from sophon.tools.tool import Risk
from sophon_middlewares.inner.approval import request_decision
from sophon_middlewares.outer.plan.plan_state import PlanApprovalStatus, PlanState

APPROVAL_RISK_THRESHOLD = Risk.MEDIUM
"""Lowest step risk from which a plan needs approval. Source: reference/sophon.md 5.13."""

MAX_LINE_CHARACTERS = 300
"""Maximum characters of a step's description in the preview."""


async def approve_plan(ctx: Context, state: PlanState) -> bool:
    """Return whether the plan may run, asking once per turn; if not, set `ctx.response` to rejected or suspended."""
    plan = state.progress.plan
    if state.approval_status == "open":
        state.approval_status = initial_approval_status(
            plan.risk, ctx.settings.approval, ctx.step.approved_risk if ctx.step else None
        )
    if state.approval_status != "open":
        return True
    request = build_approval_request(ctx, plan)
    decision = await request_decision(ctx, request, ctx.settings.approval)
    if decision.verdict == "approve":
        state.approval_status = "given"
        return True
    ctx.response = _build_response(plan, decision)
    return False


def initial_approval_status(risk: Risk, settings: ApprovalSettings, approved_risk: Risk | None) -> PlanApprovalStatus:
    """Return the approval status before asking; `approved_risk` is the risk approved with the step that this plan is
    for.
    """
    if approved_risk is not None and risk <= approved_risk:
        return "given"
    if risk < APPROVAL_RISK_THRESHOLD:
        return "unneeded"
    if settings.auto_approve_up_to is not None and risk <= Risk.parse(settings.auto_approve_up_to):
        return "unneeded"
    return "open"


def build_approval_request(ctx: Context, plan: Plan) -> ApprovalRequest:
    """Return the approval request; the same plan of the same turn has the same id."""
    return ApprovalRequest.from_call(
        ToolCall(plan.id, "plan", plan.to_json()),
        ctx.run_id,
        plan.risk,
        kind="plan",
        preview=format_preview(plan),
        expires_at=ctx.services.clock.now() + ctx.settings.approval.timeout,
        session_id=ctx.session_id,
    )


def format_preview(plan: Plan) -> str:
    """Return the plan with one line per step: description, risk, tools, dependencies."""
    lines = [_format_step(number, step) for number, step in enumerate(plan.steps, 1)]
    return "\n".join([f"Run a plan of {len(plan.steps)} steps: {_shorten(plan.goal)}", *lines])


def _format_step(number: int, step: PlanStep) -> str:
    facts = [f"risk {step.estimated_risk.label}"]
    if step.tool_hints:
        facts.append(f"tools {', '.join(step.tool_hints)}")
    if step.depends_on:
        facts.append(f"after {', '.join(step.depends_on)}")
    return f"  {number}. {step.id}: {_shorten(step.description)} ({'; '.join(facts)})"


def _shorten(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= MAX_LINE_CHARACTERS else f"{line[:MAX_LINE_CHARACTERS]}… ({len(line)} characters)"


def _build_response(plan: Plan, decision: Decision) -> Response:
    if decision.verdict == "suspend":
        return Response("Waiting for approval of the plan.", "suspended")
    reason = "a plan cannot be edited" if decision.verdict == "edit" else decision.reason
    why = f": {reason}" if reason else ""
    detail = {"plan": plan.id, "decided_by": decision.decided_by}
    return Response(f"The plan was rejected{why}. Nothing of it was run.", "rejected", detail=detail)
