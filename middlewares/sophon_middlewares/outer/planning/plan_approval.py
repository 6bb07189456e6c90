"""Approval of a plan: asks a person before a plan with a risky step runs."""

from sophon.approvals import ApprovalRequest, Decision
from sophon.context import Context, Step
from sophon.invisible_characters import render_for_person
from sophon.messages import Response, ToolCall
from sophon.plans import Plan, PlanStep
from sophon.settings import ApprovalSettings
from sophon.tools.tool import Risk
from sophon_middlewares.inner.approval.approval import request_decision
from sophon_middlewares.inner.llm_invoker.reply import end_turn
from sophon_middlewares.outer.planning.plan_state import PlanApprovalStatus, PlanState

APPROVAL_RISK_THRESHOLD = Risk.MEDIUM
"""Lowest step risk from which a plan needs approval. Source: Sophon's guide, planning."""

MAX_TEXT_CHARACTERS = 300
"""Characters of the goal, and of a step's description, that the short preview shows."""


async def approve_plan(ctx: Context, state: PlanState) -> bool:
    """Return whether the plan may run, asking once per turn; if not, set `ctx.response` to rejected or suspended."""
    plan = state.progress.plan
    if state.approval_status == "given" and ctx.resumed:
        # Since the turn was stored, users, channels or operators may have changed.
        policy = ctx.services.security.operator_policy
        if not policy.counts(plan.risk, asker=ctx.principal, decider=state.approved_by):
            state.approval_status = "open"
    if state.approval_status == "open":
        settings = ctx.services.settings.approval
        inherits = ctx.step is not None and stays_within(plan, ctx.step, settings)
        state.approval_status = initial_approval_status(
            plan.risk, settings, ctx.step.approved_risk if ctx.step and inherits else None
        )
    if state.approval_status != "open":
        return True
    request = build_approval_request(ctx, plan)
    decision = await request_decision(ctx, request, ctx.services.settings.approval)
    if decision.verdict == "approve":
        state.approval_status, state.approved_by = "given", decision.decided_by
        return True
    response = _build_response(plan, decision)
    if decision.verdict == "suspend":
        ctx.response = response
    else:
        end_turn(ctx, response)
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


def stays_within(plan: Plan, step: Step, settings: ApprovalSettings) -> bool:
    """Return whether a plan for an approved step names no other tools than the step, of those that are asked about."""
    asked_from = min(Risk.HIGH, Risk.parse(settings.ask_from))
    names = frozenset(step.tool_hints)
    asked = [each for each in plan.steps if each.estimated_risk >= asked_from]
    return not names or all(each.tool_hints and names.issuperset(each.tool_hints) for each in asked)


def build_approval_request(ctx: Context, plan: Plan) -> ApprovalRequest:
    """Return the approval request; the same plan of the same turn has the same id."""
    return ApprovalRequest.from_call(
        ToolCall(plan.id, "plan", plan.to_json()),
        ctx.run_id,
        plan.risk,
        kind="plan",
        preview=format_preview(plan),
        full_preview=format_preview(plan, limit=None),
        expires_at=ctx.services.clock.now() + ctx.services.settings.approval.timeout,
        session_id=ctx.session_id,
        needs_operator=ctx.services.security.operator_policy.needs_operator(plan.risk, ctx.principal),
    )


def format_preview(plan: Plan, limit: int | None = MAX_TEXT_CHARACTERS) -> str:
    """Return the plan for a person: goal, each step with description, risk, tools, dependencies, then what approving
    it permits.

    Of a text longer than `limit` characters head and tail are shown; with None everything is.
    """
    steps = [_format_step(number, step, limit) for number, step in enumerate(plan.steps, 1)]
    goal = render_for_person(plan.goal, limit, indent="      ")
    return "\n".join([f"Run a plan of {len(plan.steps)} steps: {goal}", *steps, *_format_coverage(plan)])


def _format_coverage(plan: Plan) -> list[str]:
    """Return the lines that say which calls are not asked about again, and that Critical ones are."""
    covered = [_format_covered(step) for step in plan.steps if step.estimated_risk >= APPROVAL_RISK_THRESHOLD]
    return [
        *(["Approving it lets these calls run without another question, whatever their arguments:"] if covered else []),
        *covered,
        "Every call of critical risk is asked about on its own, when its arguments are known.",
    ]


def _format_covered(step: PlanStep) -> str:
    if step.estimated_risk < Risk.HIGH:
        calls = f"any tool up to {step.estimated_risk.label} risk"
    elif step.tool_hints:
        calls = f"{', '.join(step.tool_hints)} up to high risk, any other tool up to medium risk"
    else:
        calls = "any tool up to high risk, because the step names none"
    # Indented further than a step's own line, so that no text of the model continues it.
    return render_for_person(f"  - {step.id}: {calls}", indent="      ")


def _format_step(number: int, step: PlanStep, limit: int | None) -> str:
    facts = [f"risk {step.estimated_risk.label}"]
    if step.tool_hints:
        facts.append(f"tools {', '.join(step.tool_hints)}")
    if step.depends_on:
        facts.append(f"after {', '.join(step.depends_on)}")
    text = f"{render_for_person(step.description, limit)} ({render_for_person('; '.join(facts))})"
    return f"  {number}. {render_for_person(step.id)}: {text}".replace("\n", "\n      ")


def _build_response(plan: Plan, decision: Decision) -> Response:
    if decision.verdict == "suspend":
        return Response("Waiting for approval of the plan.", "suspended")
    reason = "a plan cannot be edited" if decision.verdict == "edit" else decision.reason
    why = f": {reason}" if reason else ""
    detail = {"plan": plan.id, "decided_by": decision.decided_by}
    return Response(f"The plan was rejected{why}. Nothing of it was run.", "rejected", detail=detail)
