"""Audit: what became of each tool call, in the audit log of the store."""

import logging
from collections.abc import Awaitable, Mapping, Sequence
from functools import partial

from sophon.chain.pipeline import Next
from sophon.context import Context
from sophon.events import GuardDecision
from sophon.extensions import Key
from sophon.messages import ToolCall, ToolCallOutcome, ToolResult
from sophon.security import describe_error
from sophon.security.action_types import find_action_type
from sophon.security.redaction.text_redaction import cut_redacted, redact_and_cut
from sophon.stores.audit.audit_event import AuditEvent, AuditKind
from sophon.tools.untrusted_text import unfence_text
from sophon_middlewares.guards.guard import (
    GUARD_FAILED,
    Judgement,
    Verdict,
    apply_judgement,
    take_verdicts,
)
from sophon_middlewares.guards.redaction.model_redaction import is_redacted
from sophon_middlewares.tool_calls.call_risk import find_call_risk
from sophon_middlewares.tool_calls.calls_started_earlier import find_earlier_run
from sophon_middlewares.tool_calls.escalations import get_round_values, take_person_decision

log = logging.getLogger("sophon.guards")

MAX_SUMMARY_CHARACTERS = 200
"""Maximum length of the summaries of arguments and results. Source: WASP, audit log."""

_APPENDED: Key[dict[str, list[str]]] = Key(
    "audit.appended",
    dump=lambda calls: {call_id: list(verdicts) for call_id, verdicts in calls.items()},
    load=lambda data: {call_id: list(verdicts) for call_id, verdicts in data.items()},
)
"""Call id -> identities of the verdicts that the log has; a call that is in it was appended as proposed."""


class Audit:
    """Appends an entry for each tool call that is proposed, each verdict on it, and its outcome.

    `proposed` and `evaluated` are appended before the call runs: if that fails, it is blocked. `executed` and `failed`
    are appended before its result is journaled. A host stores each with the journal entry, so a kill loses none. What a
    call says is redacted, and cut after `MAX_SUMMARY_CHARACTERS`.
    """

    zone = "inner"
    unique = True
    calls_next = True
    after = ("AgenticLoop", "ParallelExecution")
    before = (
        *("Redaction", "Authorization", "RateLimit", "Integrity", "InformationFlow", "Protection", "Shield"),
        *("Snapshot", "Sandbox", "Simulation", "Approval", "ToolExecution", "LlmInvoker"),
    )
    requires = ("ToolExecution",)
    settling_only = True
    acts = {"tool call": "appends what is proposed, judged and executed to the audit log; blocks what it cannot append"}

    async def __call__(self, ctx: Context, next: Next, /) -> None:
        calls = tuple(ctx.pending)
        ended = await _propose(ctx, calls)
        try:
            with ctx.tool_check(_append_evaluations), ctx.result_hook(partial(_append_outcome, ended)):
                await next(ctx)
        except BaseException:
            await _try_to_append(ctx, calls, ended)
            raise
        await _append_rest(ctx, calls, ended)


def _append_outcome(ended: set[str], ctx: Context, call: ToolCall, result: ToolResult) -> Awaitable[None]:
    """Append the outcome of a call, after the verdicts on it; `ended` are the calls whose outcome the log has."""
    ended.add(call.id)
    verdicts = take_verdicts(ctx, call.id)
    settled = take_person_decision(ctx, call.id)
    if settled is not None:
        decision: GuardDecision = "allow" if settled.rule == "answered" else "block"
        verdicts = [*verdicts, Verdict("Approval", decision, settled.rule, settled.decided_by)]
    block = next((each for each in verdicts if each.decision == "block"), None) if verdicts else None
    events = _build_evaluations(ctx, call, verdicts) if verdicts else []
    events.append(build_outcome(ctx, call, result, block))
    return ctx.services.store.audit.append(events)


async def _append_rest(ctx: Context, calls: Sequence[ToolCall], ended: set[str]) -> None:
    """Append the outcomes of the calls that did not run, and the verdicts on those that wait for a person."""
    for call in calls:
        if call.id in ended:
            continue
        result = ctx.results.get(call.id)
        waiting = _append_evaluations(ctx, call) if result is None else _append_outcome(ended, ctx, call, result)
        if waiting is not None:
            await waiting


async def _propose(ctx: Context, calls: Sequence[ToolCall]) -> set[str]:
    """Append the calls as proposed, each once; return the ids of those whose outcome is known already."""
    ended = set[str]()
    appended = get_round_values(ctx, _APPENDED)
    new: list[ToolCall] = []
    for call in calls:
        earlier = await find_earlier_run(ctx, call) if ctx.resumed else None
        if earlier is None:
            if call.id not in appended:
                new.append(call)
        elif earlier.result is not None:
            ended.add(call.id)
    if not new:
        return ended
    try:
        await ctx.services.store.audit.append([_build_proposal(ctx, call) for call in new])
    except Exception as error:
        log.exception("calls of %s could not be audited, and are blocked", ", ".join(call.name for call in new))
        reason = f"it could not be written to the audit log: {describe_error(error)}"
        for call in new:
            apply_judgement(ctx, call, "Audit", Judgement("block", GUARD_FAILED, reason))
            take_verdicts(ctx, call.id)
        return ended | {call.id for call in new}
    for call in new:
        appended[call.id] = []
    return ended


def _build_proposal(ctx: Context, call: ToolCall) -> AuditEvent:
    raised_risk: str | None = None
    tool = ctx.services.registry.get(call.name)
    if tool is not None and (risk := find_call_risk(ctx, call, tool)) > tool.risk:  # by the arguments
        raised_risk = risk.label
    return build_event(ctx, call, "proposed", {"input": _summarize_arguments(call), "raised_risk": raised_risk})


def _append_evaluations(ctx: Context, call: ToolCall) -> Awaitable[None] | None:
    """Append the verdicts on a call, and the decision of a person; the check immediately before the call runs."""
    verdicts = take_verdicts(ctx, call.id)
    events = _build_evaluations(ctx, call, verdicts) if verdicts else []
    grant = ctx.grants.get(call.id)
    if grant is not None and grant.decided_by and call.id not in ctx.awaiting_approval:
        rule = grant.standing or ("edited" if grant.edited else "approved")
        by_person = Verdict("Approval", "allow", rule, grant.decided_by)
        events += _build_evaluations(ctx, call, [by_person], input=_summarize_arguments(call) if grant.edited else None)
    return ctx.services.store.audit.append(events) if events else None


async def _try_to_append(ctx: Context, calls: Sequence[ToolCall], ended: set[str]) -> None:
    try:
        await _append_rest(ctx, calls, ended)
    except Exception:
        log.exception("the outcome of a call that raised could not be audited")  # its own error goes on


def _build_evaluations(
    ctx: Context, call: ToolCall, verdicts: Sequence[Verdict], *, input: str | None = None
) -> list[AuditEvent]:
    """Return the entries of the verdicts that the log does not have yet."""
    known = get_round_values(ctx, _APPENDED).setdefault(call.id, [])
    new = [each for each in verdicts if each.identity not in known]
    known += [each.identity for each in new]
    return [
        build_event(
            ctx,
            call,
            "evaluated",
            {
                "reason": redact_and_cut(each.reason, MAX_SUMMARY_CHARACTERS) if each.reason else None,
                "input": input,
            },
            guard=each.guard,
            rule=each.rule,
            outcome=each.decision,
        )
        for each in new
    ]


def build_outcome(ctx: Context, call: ToolCall, result: ToolResult, block: Verdict | None) -> AuditEvent:
    """Return the entry of a call that has its result; `block` is the verdict that kept it from running."""
    return build_event(
        ctx,
        call,
        _KINDS.get(result.outcome, "failed"),
        {"output": _summarize_result(ctx, result)},
        guard=block.guard if block else "",
        rule=block.rule if block else "",
        outcome=result.outcome,
        duration_ms=result.duration_ms,
    )


_KINDS: Mapping[ToolCallOutcome, AuditKind] = {"completed": "executed", "denied": "blocked"}
"""What became of a call, by its outcome; any other is a failure."""


def build_event(
    ctx: Context,
    call: ToolCall,
    kind: AuditKind,
    texts: Mapping[str, str | None],
    *,
    guard: str = "",
    rule: str = "",
    outcome: str = "",
    duration_ms: int = 0,
) -> AuditEvent:
    """Return an entry about a call; `texts` are redacted and cut; None is left out."""
    services = ctx.services
    tool = services.registry.get(call.name)
    return AuditEvent(
        services.clock.now(),
        kind,
        ctx.session_id,
        ctx.run_id,
        call.id,
        "",
        ctx.principal,
        call.name,
        find_action_type(call.name),
        tool.risk.label if tool is not None else "",
        guard,
        rule,
        outcome,
        duration_ms,
        {name: text for name, text in texts.items() if text is not None},
    )


def _summarize_arguments(call: ToolCall) -> str:
    return redact_and_cut(call.canonical_arguments().decode("utf-8", "replace"), MAX_SUMMARY_CHARACTERS)


def _summarize_result(ctx: Context, result: ToolResult) -> str | None:
    if not result.text:
        return None
    text = unfence_text(result.text)
    return (cut_redacted if is_redacted(ctx, text) else redact_and_cut)(text, MAX_SUMMARY_CHARACTERS)
