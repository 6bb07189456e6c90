"""Information flow: which data a session has read, and where it may go."""

from collections.abc import Awaitable, Sequence
from contextlib import suppress

from sophon.chain.pipeline import Next
from sophon.context import Context
from sophon.extensions import Key
from sophon.messages import ToolCall, ToolResult
from sophon.security.action_types import find_action_type
from sophon.security.file_access import may_access_files
from sophon.security.information_flow import FlowVerdict, judge_flow
from sophon.security.taint import UNTAINTED, Taint
from sophon.stores.data_labels.contract import LabelWrite
from sophon_middlewares.guards.flow_provenance import judge_provenance
from sophon_middlewares.guards.flow_taint import (
    build_file_labels,
    find_call_taint,
    find_memory_taint,
    find_result_taint,
    is_loaded,
    list_result_labels,
    load_session_taint,
    raise_session_taint,
)
from sophon_middlewares.guards.flow_targets import find_open_sinks
from sophon_middlewares.guards.judgement import Judgement, announce_judgement, format_block, judge_round
from sophon_middlewares.inner.round_calls import forget_earlier_rounds

_RULES: Key[dict[str, str]] = Key("information_flow.rules", dump=dict, load=dict)
"""Call id -> the rule by which a call was escalated, or would have been stopped, when it was judged."""

_READS: Key[dict[str, Taint]] = Key("information_flow.reads")
"""Call id -> taint of what a call reads, found before it runs: it may move the files."""


class InformationFlow:
    """Labels what a session reads, and blocks calls that would carry it where it must not go, or asks a person.

    A session has the highest label (0 to 4) of the files that it has read, and what it writes has the label of the
    session, also when another session reads it. Private data and untrusted content together close the external sinks:
    each call to one needs a person. So does, after untrusted content, a call that acts with values that people have not
    written in this session: whoever wrote the content may have asked for it.

    A call is judged with its round and again immediately before it runs, because a call beside it may have read
    something meanwhile. In mode Audit nothing is stopped, and the verdict has the rule `would_block_...` or
    `would_escalate_...`.
    """

    zone = "inner"
    unique = True
    calls_next = True
    after = ("AgenticLoop", "ParallelExecution")
    before = ("Protection", "Approval", "ToolExecution", "LlmInvoker")
    requires = ("ToolExecution",)
    acts = {"tool call": "labels what the session reads; keeps it from places where it must not go"}

    async def __call__(self, ctx: Context, next: Next, /) -> None:
        if not ctx.settling:
            await next(ctx)
            if ctx.pending:
                # Once for all calls, so that they begin together and share one commit.
                with suppress(Exception):  # judging a call loads it again, and blocks the call if that fails too
                    await load_session_taint(ctx)
            return
        with ctx.result_hook(_follow_result):
            await judge_round(ctx, next, "InformationFlow", _judge, _check)


def _judge(ctx: Context, call: ToolCall) -> Awaitable[Judgement | None] | None:
    return None if is_loaded(ctx) and _is_untainted(ctx, call) else _judge_taint(ctx, call)


def _is_untainted(ctx: Context, call: ToolCall) -> bool:
    """Return whether there is nothing to judge: the session has read nothing, and the call reads no file."""
    return ctx.tally.taint == UNTAINTED and not may_access_files(find_action_type(call.name), call.arguments)


async def _judge_taint(ctx: Context, call: ToolCall) -> Judgement | None:
    await load_session_taint(ctx)
    verdict = await _find_verdict(ctx, call, await find_call_taint(ctx, call)) or judge_provenance(ctx, call)
    if verdict is None:
        return None
    rules = ctx.get(_RULES)
    if rules is None:
        rules = dict[str, str]()
        ctx.put(_RULES, rules)
    forget_earlier_rounds(ctx, rules)
    rules[call.id] = verdict.rule
    return to_judgement(verdict, enforces=ctx.settings.guards.information_flow.mode == "Enforce")


async def _find_verdict(ctx: Context, call: ToolCall, reads: Taint) -> FlowVerdict | None:
    taint = ctx.tally.taint.merge(reads)
    verdict = judge_flow(taint, find_open_sinks(ctx, call, may_be_seen=False)) if taint != Taint() else None
    if verdict is None:
        return None
    # An address that was seen carries nothing; the texts are searched only where it matters.
    return judge_flow(taint, find_open_sinks(ctx, call, may_be_seen=True))


def to_judgement(verdict: FlowVerdict, *, enforces: bool) -> Judgement:
    """Return the judgement of a verdict; where nothing is enforced, the rule says what would have happened."""
    if enforces:
        assert verdict.decision != "allow"
        return Judgement(verdict.decision, verdict.rule, verdict.reason)
    return Judgement("allow", f"would_{verdict.decision}_{verdict.rule}", verdict.reason)


def _check(ctx: Context, call: ToolCall) -> Awaitable[str | None] | None:
    """Judge a call immediately before it runs, and label what it is about to write."""
    if not _is_untainted(ctx, call):
        return _check_taint(ctx, call)
    _note_reads(ctx, call, UNTAINTED)
    return None


async def _check_taint(ctx: Context, call: ToolCall) -> str | None:
    reads = await find_call_taint(ctx, call)
    verdict = await _find_verdict(ctx, call, reads)
    known_rule = (ctx.get(_RULES) or {}).get(call.id)
    if verdict is not None and verdict.rule != known_rule:
        judgement = to_judgement(verdict, enforces=ctx.settings.guards.information_flow.mode == "Enforce")
        if judgement.verdict == "escalate":
            reason = f"{judgement.reason}; nobody was asked about that. Propose the call again, to have a person asked"
            judgement = Judgement("block", judgement.rule, reason)
        announce_judgement(ctx, call, "InformationFlow", judgement)
        if judgement.verdict == "block":
            return format_block("InformationFlow", judgement)
    _note_reads(ctx, call, reads)
    labels = build_file_labels(ctx, call, reads)
    if labels:
        await ctx.services.store.data_labels.write(labels)
    return None


def _note_reads(ctx: Context, call: ToolCall, taint: Taint) -> None:
    noted = ctx.get(_READS)
    if noted is None:
        if taint == UNTAINTED:
            return
        noted = dict[str, Taint]()
        ctx.put(_READS, noted)
    forget_earlier_rounds(ctx, noted)
    noted[call.id] = taint


def _follow_result(ctx: Context, call: ToolCall, result: ToolResult) -> Awaitable[None] | None:
    """Raise the taint of the session by what a call has returned, in the transaction of its result."""
    noted = ctx.get(_READS)
    taint = find_result_taint(ctx, call, result, UNTAINTED if noted is None else noted.get(call.id, UNTAINTED))
    labels = list_result_labels(ctx, call, result)
    if not labels and taint == UNTAINTED and find_action_type(call.name) != "memory_search":
        return None
    return _raise_taint(ctx, call, result, taint, labels)


async def _raise_taint(
    ctx: Context, call: ToolCall, result: ToolResult, taint: Taint, labels: Sequence[LabelWrite]
) -> None:
    taint = taint.merge(await find_memory_taint(ctx, call, result))
    await raise_session_taint(ctx, taint, labels)
