"""Information flow: which data a session has read, and where it may go."""

import json
from collections.abc import Awaitable, Iterator, Sequence
from contextlib import suppress
from fnmatch import fnmatchcase
from typing import Final

from sophon.chain.pipeline import Next
from sophon.context import Context
from sophon.extensions import Key
from sophon.messages import ToolCall, ToolResult
from sophon.risk import Risk
from sophon.security.action_types import find_action_type
from sophon.security.assessed_arguments import find_objects, has_command
from sophon.security.file_access import may_access_files
from sophon.security.information_flow.flow_decision import FlowVerdict, Sink, judge_flow
from sophon.security.information_flow.named_values import PersonTexts, find_unnamed_arguments
from sophon.security.information_flow.seen_links import is_seen_link
from sophon.security.information_flow.sinks import LINK_ACTIONS, find_sinks
from sophon.security.information_flow.taint import UNTAINTED, Taint
from sophon.stores.data_labels.contract import LabelWrite
from sophon.tools.declared_action_types import find_trusted_action_type, is_built_in
from sophon.tools.tool import Tool
from sophon.tools.untrusted_text import find_fence_sources, unfence_text
from sophon.turn.provenance import list_person_texts
from sophon_middlewares.guards.guard import Guard, Judgement, announce_judgement, format_block
from sophon_middlewares.guards.information_flow.session_taint import (
    LOADED,
    build_file_labels,
    find_call_taint,
    find_memory_taint,
    find_result_taint,
    is_local,
    list_result_labels,
    load_session_taint,
    raise_session_taint,
)
from sophon_middlewares.tool_calls.escalations import get_round_values

_RULES: Key[dict[str, str]] = Key("information_flow.rules", dump=dict, load=dict)
"""Call id -> the rule by which a call was escalated, or would have been stopped, when it was judged."""

_READS: Key[dict[str, Taint]] = Key("information_flow.reads")
"""Call id -> taint of what a call reads, found before it runs: it may move the files."""

NOT_ASKED_FOR = "not_asked_for"

MAX_NAMES = 3

MAX_NAME_CHARACTERS = 40

_SINKS: Final[dict[str, tuple[Sink, ...]]] = {
    "External": ("external",),
    "Exec": ("exec",),
    "Memory": ("memory",),
    "WorkspaceWrite": ("workspace_write",),
    "WorkspaceRead": ("workspace_read",),
    "None": (),
}

_PAGE_ARGUMENTS: Final = frozenset({"url", "headers"})


class InformationFlow(Guard):
    """Labels what a session reads, and blocks calls that would carry it where it must not go, or asks a person.

    A session has the highest label (0 to 4) of the files that it has read, and what it writes has the label of the
    session, also when another session reads it. Private data and untrusted content together close the external sinks:
    each call to one needs a person. So does, after untrusted content, a call that acts with values that people have not
    written in this session: whoever wrote the content may have asked for it.

    A call is judged with its round and again immediately before it runs, because a call beside it may have read
    something meanwhile. In mode Audit nothing is stopped, and the verdict has the rule `would_block_...` or
    `would_escalate_...`.
    """

    after = ("AgenticLoop", "ParallelExecution")
    before = ("Protection", "Approval", "ToolExecution", "LlmInvoker")
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
            await super().__call__(ctx, next)

    def judge(self, ctx: Context, call: ToolCall) -> Awaitable[Judgement | None] | None:
        """Judge where the call would carry what the session has read."""
        return None if ctx.get(LOADED) and _is_untainted(ctx, call) else _judge_taint(ctx, call)

    def check(self, ctx: Context, call: ToolCall) -> Awaitable[str | None] | None:
        """Judge a call immediately before it runs, and label what it is about to write."""
        if not _is_untainted(ctx, call):
            return _check_taint(ctx, call)
        if ctx.get(_READS) is not None:
            get_round_values(ctx, _READS)[call.id] = UNTAINTED
        return None


def _is_untainted(ctx: Context, call: ToolCall) -> bool:
    """Return whether there is nothing to judge: the session has read nothing, and the call reads no file."""
    return ctx.tally.taint == UNTAINTED and not may_access_files(find_action_type(call.name), call.arguments)


async def _judge_taint(ctx: Context, call: ToolCall) -> Judgement | None:
    await load_session_taint(ctx)
    verdict = await _find_verdict(ctx, call, await find_call_taint(ctx, call)) or judge_provenance(ctx, call)
    if verdict is None:
        return None
    get_round_values(ctx, _RULES)[call.id] = verdict.rule
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
    get_round_values(ctx, _READS)[call.id] = reads
    labels = build_file_labels(ctx, call, reads)
    if labels:
        await ctx.services.store.data_labels.write(labels)
    return None


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


def judge_provenance(ctx: Context, call: ToolCall) -> FlowVerdict | None:
    """Return an escalation if the call acts, the session has read untrusted content, and nobody named its values.

    The taint is that of the moment in which the call was proposed: what is read afterwards cannot have asked for it.
    """
    tool = ctx.services.registry.get(call.name)
    if tool is None or not ctx.tally.taint.is_untrusted:
        return None
    if tool.risk < Risk.MEDIUM and set(find_open_sinks(ctx, call, may_be_seen=True)) <= {"workspace_read"}:
        return None
    is_command = find_action_type(call.name) == "execute_command" or any(map(has_command, find_objects(call.arguments)))
    texts = PersonTexts(list_person_texts(ctx))
    unnamed = find_unnamed_arguments(call.arguments, tool.parameters, texts, is_command=is_command)
    if unnamed == []:
        return None
    return FlowVerdict("escalate", NOT_ASKED_FOR, f"it follows from text of others: {_describe(unnamed)}")


def _describe(unnamed: list[str] | None) -> str:
    if unnamed is None:
        return "the call has no value that anybody could have named"
    names = [json.dumps(name[:MAX_NAME_CHARACTERS]) for name in unnamed[:MAX_NAMES]]
    more = f" and {len(unnamed) - MAX_NAMES} more" if len(unnamed) > MAX_NAMES else ""
    return f"what stands in {', '.join(names)}{more} is nowhere in what people wrote in this session"


def find_open_sinks(ctx: Context, call: ToolCall, *, may_be_seen: bool) -> tuple[Sink, ...]:
    """Return where the arguments of a call go: by `Guards.InformationFlow.Sinks`, else by its action type.

    With `may_be_seen`, a request for a page whose address the user wrote, or a result contained, goes nowhere.
    """
    own = ctx.settings.guards.information_flow.sinks
    for glob, sink in own.items():
        if fnmatchcase(call.name, glob):
            return _SINKS[sink]
    tool = ctx.services.registry.get(call.name)
    if may_be_seen and _opens_page(call, tool) and is_seen_link(call.arguments, list_seen_texts(ctx, call)):
        return ("workspace_read",)
    return find_sinks(
        call.name,
        find_trusted_action_type(tool),
        call.arguments,
        is_external=tool is None or tool.external,
        risk=tool.risk if tool is not None else Risk.CRITICAL,
    )


def _opens_page(call: ToolCall, tool: Tool | None) -> bool:
    """Return whether a call does nothing but open its address: whatever else it has is sent there, too."""
    if tool is None or find_action_type(call.name) not in LINK_ACTIONS:
        return False
    return is_built_in(tool) or (tool.risk < Risk.MEDIUM and call.arguments.keys() <= _PAGE_ARGUMENTS)


def list_seen_texts(ctx: Context, call: ToolCall) -> Iterator[str]:
    """Yield the texts in which the address of a call may have been seen: of the user, and of results from outside.

    Not in a result that repeats an argument of its call, such as an error that names an address: the model wrote it.
    Nor in files, memory and the output of commands, where the model may have put it. The text of a plan step is a
    model's, too; in a step the user's texts are those of the turn.
    """
    url = str(call.arguments.get("url"))
    for message in ctx.root.messages:
        if message.role == "user" and not message.origin:
            yield from _spellings(message.content)
    calls = {each.id: each for message in ctx.messages for each in message.tool_calls}
    for message in ctx.messages:
        asked = calls.get(message.tool_call_id or "")
        if message.role != "tool" or asked is None or is_local(ctx, asked) or not find_fence_sources(message.content):
            continue
        if url not in asked.canonical_arguments().decode("utf-8", "replace"):
            yield from _spellings(unfence_text(message.content))


def _spellings(text: str) -> Iterator[str]:
    yield text
    if "&amp;" in text:
        yield text.replace("&amp;", "&")
