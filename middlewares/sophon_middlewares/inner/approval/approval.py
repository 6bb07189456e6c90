"""Approval: asks a person before a tool of High risk or above runs, and binds the decision to exactly that call."""

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import replace
from datetime import timedelta
from typing import Any

from sophon.approvals import ApprovalRequest, Decision, Grant, compute_call_digest
from sophon.builtin_tools.questions import chat_ask, find_question_problem, render_question
from sophon.chain.pipeline import Next
from sophon.context import Context, Step
from sophon.deadline import Deadline, timeout_at
from sophon.errors import ChainError, CompositionError, StoreError
from sophon.events import AgentStatus, ApprovalResolved, GuardVerdict
from sophon.goal_autonomy import GOAL_AUTONOMY, Autonomy, requires_confirmation
from sophon.messages import Response, ToolCall
from sophon.security.action_types import LASTING_EFFECT, explain_lasting_effect, has_lasting_effect
from sophon.security.sliding_windows import RateLimit
from sophon.settings import ApprovalSettings
from sophon.tools.tool import Risk, Tool
from sophon.turn.approval_events import build_request_event
from sophon.turn.in_call_questions import HoldingGate
from sophon.turn.provenance import UNKNOWN_SOURCE, collect_untrusted_sources
from sophon_middlewares.inner.approval.announced_requests import note_announced, was_announced
from sophon_middlewares.inner.approval.standing_grants import (
    describe_grant_offer,
    find_standing_grant,
    store_standing_grant,
    use_standing_grant,
)
from sophon_middlewares.tool_calls.call_checks import find_argument_error, find_call_error
from sophon_middlewares.tool_calls.call_risk import find_call_risk
from sophon_middlewares.tool_calls.calls_started_earlier import find_earlier_run
from sophon_middlewares.tool_calls.escalations import Escalation, escalate, find_escalation, note_person_decision
from sophon_middlewares.tool_calls.fast_path_call import is_fast_path
from sophon_middlewares.tool_calls.rate_slots import take_slot
from sophon_middlewares.tool_calls.result_redaction import redact_result

QUESTIONS_SCOPE = "approval.questions"
"""Beginning of the rate window of the questions about calls of one user; `:` and the user follow."""

DECIDED_BY_TIMEOUT = "expiry"
"""Value of `decided_by` for a decision by timeout."""

GUARD = "Approval"


class Approval:
    """Grants each pending call, settles it as denied, or leaves it pending for a person who has not decided yet.

    Asks from risk `Approval.AskFrom` (High) on, through the services' gate, unless the call's risk is within
    `Approval.AutoApproveUpTo` or was approved with its plan step, which never covers a Critical call, and a High one
    only of a tool that the step names. A call that needs an operator (`OperatorPolicy`), one that a guard has
    escalated, and after untrusted text one with a lasting effect (`sophon.security.action_types`), is always asked
    about, on its own; any other may have been approved in advance (`standing_grants`). The grant of a call is a digest
    of run, call id, tool and arguments, which ToolExecution verifies right before it runs. The question of `chat.ask`
    is settled with the person's answer.
    Beyond `Approval.QuestionsPerHour` a call that a person would be asked about is denied instead.
    After `Approval.Timeout` (5 minutes) `OnTimeout` applies: Deny, Halt (deny and end the turn as `rejected`) or Park
    (suspend).
    """

    zone = "inner"
    unique = True
    calls_next = True
    after = ("AgenticLoop", "ParallelExecution")
    settling_only = True
    before = ("ToolExecution", "LlmInvoker")
    requires = ("ToolExecution",)
    acts = {"tool call": "asks a person before a call of High risk or above: approve, edit, reject, or wait"}

    async def __call__(self, ctx: Context, next: Next, /) -> None:
        if ctx.settling:
            registry = ctx.services.registry
            for call in list(ctx.pending):
                tool = registry.get(call.name)
                if tool is None:
                    continue
                is_lasting = has_lasting_effect(tool.name, tool.lasting)
                if is_lasting and call.id not in ctx.grants:
                    await escalate_lasting_call(ctx, call)
                escalation, risk = find_escalation(ctx, call), find_call_risk(ctx, call, tool)
                asks = escalation is not None or is_asked_by_risk(ctx, tool, risk)
                if asks or is_lasting or max(risk, tool.risk) >= Risk.HIGH or tool is chat_ask:
                    await _decide(ctx, call, tool, risk, escalation, asks=asks)
        await next(ctx)


async def _decide(
    ctx: Context, call: ToolCall, tool: Tool, risk: Risk, escalation: Escalation | None, *, asks: bool
) -> None:
    if ctx.resumed and await find_earlier_run(ctx, call) is not None:
        return
    if find_call_error(ctx, call, tool) is not None or find_argument_error(tool, call.arguments) is not None:
        return  # ToolExecution returns the error; a call that cannot run needs no approval
    if tool is chat_ask:
        await _ask_question(ctx, call, tool, escalation)
        return
    digest = compute_call_digest(ctx.run_id, call)
    if (grant := ctx.grants.get(call.id)) is not None and grant.digest == digest:
        return
    standing = (
        await find_standing_grant(ctx, call, tool) if asks and escalation is None and risk < Risk.CRITICAL else None
    )
    if standing is not None:
        use_standing_grant(ctx, call, standing, digest)
    elif asks:
        await _ask_for_call(ctx, call, tool, risk, escalation)
    else:
        ctx.grants[call.id] = Grant(digest)


def is_asked_by_risk(ctx: Context, tool: Tool, risk: Risk) -> bool:
    """Return whether a person is asked about a call of the tool in this turn because of the risk of the call."""
    services, step = ctx.services, ctx.step
    if services.security.operator_policy.needs_operator(risk, ctx.principal):
        return True
    if (mode := ctx.root.get(GOAL_AUTONOMY)) is not None:
        return is_asked_in_goal(mode, risk, services.settings.approval)
    if step is None:
        return requires_approval(risk, services.settings.approval, None)
    return requires_approval(risk, services.settings.approval, step.approved_risk, named=names_tool(step, tool.name))


def is_asked_in_goal(mode: Autonomy, risk: Risk, settings: ApprovalSettings) -> bool:
    """Return whether a person is asked about a call of a goal's step: its mode asks, or the host does.

    Full lets High calls run that the host asks about from High on, because its owner has chosen that. Where the host
    asks from a lower risk on, that rule stays for all calls.
    """
    if requires_confirmation(mode, risk):
        return True
    asks_from, _ = settings.risks
    if mode == "Full" and risk == Risk.HIGH and asks_from >= Risk.HIGH:
        return False
    return requires_approval(risk, settings, None)


def requires_approval(
    risk: Risk, settings: ApprovalSettings, approved_risk: Risk | None, *, named: bool = True
) -> bool:
    """Return whether a call of this risk needs approval; `approved_risk` is the risk approved with the plan step.

    The approval of a plan covers what its reader could see: not a call of Critical risk, and where people are asked
    about calls of this risk only one whose tool the step names (`named`). In an approved plan, a Medium risk that the
    plan did not declare needs approval too.
    """
    asks_from, approves_up_to = settings.risks
    visible = risk < Risk.CRITICAL and (named or risk < asks_from)
    if approved_risk is not None and risk <= approved_risk and visible:
        return False
    if risk < (asks_from if approved_risk is None else min(asks_from, Risk.MEDIUM)):
        return False
    return approves_up_to is None or risk > approves_up_to


def names_tool(step: Step, tool: str) -> bool:
    """Return whether an approved step covers calls of the tool. A step that names no tool covers each, as its plan's
    preview says.
    """
    return not step.tool_hints or tool in step.tool_hints


async def _ask_for_call(ctx: Context, call: ToolCall, tool: Tool, risk: Risk, escalation: Escalation | None) -> None:
    settings = ctx.services.settings.approval
    request = ApprovalRequest.from_call(
        call,
        ctx.run_id,
        risk,
        note=_write_note(ctx, call, tool),
        editable=tool.editable,
        expires_at=ctx.services.clock.now() + settings.timeout,
        session_id=ctx.session_id,
        needs_operator=ctx.services.security.operator_policy.needs_operator(risk, ctx.principal),
        escalation=escalation,
        grant_offer=describe_grant_offer(call, tool) if escalation is None and risk < Risk.CRITICAL else "",
    )
    if not was_announced(ctx, request.id) and not await may_ask_again(ctx):
        limit = f"Approval.QuestionsPerHour ({settings.questions_per_hour})"
        reason = (
            f"a person was asked as often in the last hour as {limit} allows, and is asked no more until it is over"
        )
        ctx.settle(call, f"denied: {reason}", "denied")
        return
    decision = await request_decision(ctx, request, settings)
    if decision.verdict == "approve":
        await store_standing_grant(ctx, request, decision)
        ctx.grants[call.id] = Grant(request.digest, decided_by=decision.decided_by)
    elif decision.verdict == "edit":
        _edit(ctx, call, tool, decision)
    elif decision.verdict == "suspend":
        ctx.awaiting_approval.add(call.id)
    else:
        note_person_decision(ctx, call, "rejected", decision.decided_by)
        ctx.settle(call, f"denied: {decision.reason or 'the person rejected this call'}", "denied")
        if decision.decided_by == DECIDED_BY_TIMEOUT and settings.on_timeout == "Halt":
            ctx.response = Response(f"I stopped: {decision.reason} ({call.name}).", "rejected")


async def may_ask_again(ctx: Context) -> bool:
    """Return whether a person may be asked about a further call of this user, and count it.

    Who is asked again and again approves without reading.
    """
    limit = ctx.services.settings.approval.questions_per_hour
    if limit is None:
        return True
    return await take_slot(ctx, RateLimit("questions_per_hour", f"{QUESTIONS_SCOPE}:{ctx.principal}", limit, 3600.0))


async def _ask_question(ctx: Context, call: ToolCall, tool: Tool, escalation: Escalation | None) -> None:
    request = build_question(ctx, call, tool, escalation)
    if request is not None:
        decision = await request_decision(ctx, request, ctx.services.settings.approval)
        await settle_question(ctx, call, decision)


def _write_note(ctx: Context, call: ToolCall, tool: Tool) -> str:
    note = tool.approval_note
    text = note if isinstance(note, str) else note(ctx, call.arguments)
    if not isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance] - of tools without types
        raise CompositionError(f"tool {tool.name!r}: approval_note returned {text!r:.60}; it must return a text")
    return "\n".join(part for part in (_describe_agent(ctx), text, _describe_credentials(ctx, call)) if part)


def _describe_agent(ctx: Context) -> str:
    """Return which sub-agent makes the call; "" for a call of the turn itself."""
    if ctx.services.assistant.agents is None:
        return ""
    from sophon.turn.agent import find_agent_depth, find_agent_name  # lazy: most hosts have no agents

    return f"The sub-agent {find_agent_name(ctx)} makes this call." if find_agent_depth(ctx) else ""


def _describe_credentials(ctx: Context, call: ToolCall) -> str:
    """Return which credentials of the vault the host would attach to the request; never their values."""
    url = call.arguments.get("url")
    if call.name not in HTTP_TOOLS or not isinstance(url, str):
        return ""
    names = ctx.services.security.vault.list_names(
        url, principal=ctx.principal, data_owner=ctx.data_owner, group=ctx.group
    )
    return f"The host adds the credential {', '.join(map(repr, names))} of its vault to the request." if names else ""


HTTP_TOOLS = ("http.request", "http.send")
"""Tools to whose requests the host attaches credentials."""


def check_decision(answer: object, gate: object) -> Decision:
    """Return the answer of an approval gate. Raises ChainError if it is no Decision: True must not pass as one."""
    if not isinstance(answer, Decision):
        raise ChainError(
            f"the approval gate {type(gate).__name__} returned {answer!r:.60}, which is not a Decision; return "
            f"Decision.approve() or Decision.reject()"
        )
    return answer


async def request_decision(ctx: Context, request: ApprovalRequest, settings: ApprovalSettings) -> Decision:
    """Request a decision from the gate and emit the events; on a timeout `OnTimeout` decides."""
    is_new = note_announced(ctx, request.id)
    if is_new:
        _emit_waiting(ctx, request)
        ctx.emit(build_request_event(request))
    gate = ctx.services.approvals
    if isinstance(gate, HoldingGate):  # it waits for its store alone, in which the time of the person begins
        decision = check_decision(await gate.request(request), gate)
    else:
        decision = await _wait_for_person(ctx, request, settings)
    if decision.verdict != "suspend":
        ctx.emit(
            ApprovalResolved(
                approval_id=request.id,
                decision=decision.verdict,
                decided_by=decision.decided_by,
                reason=decision.reason,
                arguments=decision.arguments if decision.verdict == "edit" else None,
            )
        )
    elif not is_new:  # a turn that goes on does not wait for what is decided by now
        _emit_waiting(ctx, request)
    return decision


async def _wait_for_person(ctx: Context, request: ApprovalRequest, settings: ApprovalSettings) -> Decision:
    clock, gate = ctx.services.clock, ctx.services.approvals
    deadline = Deadline.of(clock.now() + settings.timeout, clock)
    ctx.stopwatch.pause()
    try:
        async with timeout_at(deadline, clock) as limit:
            decision = check_decision(await gate.request(request), gate)
    except TimeoutError:
        return timeout_decision(settings)
    finally:
        ctx.stopwatch.resume()
    # A gate that swallowed the timeout decided too late.
    return timeout_decision(settings) if limit.expired() else decision


def timeout_decision(settings: ApprovalSettings) -> Decision:
    """Return the decision for a timeout."""
    if settings.on_timeout == "Park":
        return Decision.suspend()
    return Decision.reject(f"nobody decided within {_format_duration(settings.timeout)}", decided_by=DECIDED_BY_TIMEOUT)


def _emit_waiting(ctx: Context, request: ApprovalRequest) -> None:
    detail = f"{request.tool}: waiting for an operator" if request.needs_operator else request.tool
    ctx.emit(AgentStatus(status="waiting_approval", detail=detail))


def _edit(ctx: Context, call: ToolCall, tool: Tool, decision: Decision) -> None:
    """Replace the pending call by the edited one, bound by its own digest; the transcript keeps the model's call."""
    if not tool.editable:
        ctx.settle(call, f"denied: the arguments of {call.name} cannot be edited", "denied")
        return
    arguments: Mapping[str, Any] = deepcopy(dict(decision.arguments))
    wrong = find_argument_error(tool, arguments)
    if wrong is not None:
        ctx.settle(call, f"denied: the edited arguments do not fit: {'; '.join(wrong.problems)}", "denied")
        return
    edited = replace(call, arguments=arguments)
    ctx.pending = [edited if other.id == call.id else other for other in ctx.pending]
    ctx.grants[call.id] = Grant(compute_call_digest(ctx.run_id, edited), edited=True, decided_by=decision.decided_by)


def _format_duration(time: timedelta) -> str:
    seconds = time.total_seconds()
    return f"{seconds / 60:g} minutes" if seconds >= 60 else f"{seconds:g} seconds"


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
        text, outcome = await redact_result(ctx, call, f"The person answered: {decision.reason}", "completed")
        note_person_decision(ctx, call, "answered", decision.decided_by)
        ctx.settle(call, text, outcome)
    else:
        note_person_decision(ctx, call, "rejected", decision.decided_by)
        ctx.settle(call, f"not answered: {decision.reason or 'the person did not want to answer'}", "denied")


async def escalate_lasting_call(ctx: Context, call: ToolCall) -> None:
    """Escalate a call with a lasting effect if the session has read untrusted text, or if nobody knows.

    That people named its values is no reason not to ask: the name of a schedule that they made tells a page what to
    pause. Only a fast path is made of the words of the person alone.
    """
    if is_fast_path(ctx, call):
        return
    try:
        sources = await collect_untrusted_sources(ctx)
    except StoreError:
        sources = (UNKNOWN_SOURCE,)
    if not sources:
        return
    reason = explain_lasting_effect(sources)
    escalate(ctx, call, Escalation(GUARD, LASTING_EFFECT, reason))
    if ctx.has_listeners:
        ctx.emit(
            GuardVerdict(
                call_id=call.id, guard=GUARD, verdict="escalate", rule=LASTING_EFFECT, reason=reason, tool=call.name
            )
        )
