"""Tool execution: runs the pending calls, and gives every call exactly one result."""

import asyncio
import logging
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import replace
from typing import Any, cast

from sophon.approvals import compute_call_digest
from sophon.chain.pipeline import CONCURRENT_NEXT, Next
from sophon.context import Context
from sophon.errors import BudgetExceeded, ChainError, ToolError
from sophon.events import ToolCallStarted
from sophon.extensions import Key
from sophon.messages import ToolCall, ToolCallOutcome
from sophon.security import describe_error
from sophon.security.redaction.value_redaction import redact_values
from sophon.stores.tool_call_journal.contract import JournalEntry
from sophon.task_timeout import TaskTimeout
from sophon.tools.result_limit import fence_within, limit_result
from sophon.tools.running_call import RUNNING_CALL, RunningCall
from sophon.tools.tool import CallSuspended, Risk, Tool
from sophon.tools.truncation import truncate
from sophon.tools.untrusted_text import ExternalText
from sophon.traces.trace_context import PROPAGATED, derive_span_id
from sophon.turn.provenance import describe_source, note_fenced_result, note_untrusted_source
from sophon_middlewares.tool_calls.call_checks import (
    find_argument_error,
    find_call_error,
    find_permission_error,
)
from sophon_middlewares.tool_calls.calls_started_earlier import find_earlier_run
from sophon_middlewares.tool_calls.grant_check import find_grant_error
from sophon_middlewares.tool_calls.result_redaction import MAX_INLINE_CHARACTERS, redact_result, redact_text
from sophon_middlewares.tool_calls.tool_limits import (
    keep_reserved_call,
    limit_call_seconds,
    note_suspended_call,
    start_reserved_call,
)

log = logging.getLogger("sophon.tools")

NO_ROOM_RESULT = "[the result is left out: the tool's max_result has no room for its fence]"

MAX_NOTE_CHARACTERS = 1000
"""Maximum characters of edited arguments in a result's note."""

CANCELLED_RESULT = "error: this call was cancelled while it ran; its outcome is unknown"

INTERRUPTED_RESULT = "error: this call was interrupted; whether it took effect is unknown, so check first"

_RUNNING: Key[set[str]] = Key("tool_execution.running")
"""Ids of the calls that are being settled now."""


class ToolExecution:
    """Runs the pending calls in call order (one call in a branch) and ends the settling pass.

    An unknown or withheld tool, invalid arguments, an exception, a timeout and a CancelledError that the tool raised by
    itself each become an error result. A tool that returned, or raised anything else, after its timeout has timed out.
    Once the turn is cancelled, no call starts. A call of High risk or above runs only with a grant for exactly its
    arguments. A result, with its fence and notes, has at most `Tools.MaxResultCharacters` (8000, Sophon's
    guide) or the tool's `max_result`. The journal prevents a resumed turn from running a finished call again. Raises
    BudgetExceeded, and ChainError for a call that is already running. Calls that wait for approval stay pending.
    """

    zone = "inner"
    unique = True
    calls_next = True
    after = ("AgenticLoop", "ParallelExecution", "Approval")
    settling_only = True
    before = ("LlmInvoker",)
    acts = {"tool call": "checks name, arguments and grant; runs it with a timeout; truncates and journals the result"}

    async def __call__(self, ctx: Context, next: Next, /) -> None:
        if not ctx.settling:
            await next(ctx)
            return
        running = ctx.get(_RUNNING)
        if running is None:
            running = set[str]()
            ctx.put(_RUNNING, running)
        for call in list(ctx.pending):
            if call.id in ctx.awaiting_approval:
                continue
            if call.id in running:
                raise ChainError(CONCURRENT_NEXT)
            running.add(call.id)
            try:
                await _settle(ctx, call)
            finally:
                running.discard(call.id)


async def _settle(ctx: Context, call: ToolCall) -> None:
    if ctx.resumed and (earlier := await find_earlier_run(ctx, call)) is not None:
        _settle_from_journal(ctx, call, earlier)
        return
    tool = ctx.services.registry.get(call.name)
    error = find_call_error(ctx, call, tool)
    if error is not None or tool is None:
        ctx.settle(call, f"error: {error}", "failed")
        return
    if tool.risk >= Risk.HIGH or call.id in ctx.grants:
        # A private copy: whoever holds the call's arguments cannot change them after they were compared to the grant.
        call = replace(call, arguments=deepcopy(dict(call.arguments)))
    refusal = find_grant_error(ctx, call, tool)
    if refusal is not None:
        invalid = find_argument_error(tool, call.arguments)
        ctx.settle(call, f"error: {invalid or refusal}", "failed" if invalid else "denied")
        return
    limiter = None if tool.nested else ctx.tool_limiter  # the calls of its own turn need the slots
    if limiter is not None and not limiter.try_acquire(tool.serial):
        await limiter.acquire(tool.serial)
    try:
        refusal = await _find_refusal(ctx, call, tool)
        if refusal is None:
            await _run(ctx, call, tool)
        else:
            ctx.settle(call, refusal, "denied")
    finally:
        if limiter is not None:
            limiter.release()


async def _find_refusal(ctx: Context, call: ToolCall, tool: Tool) -> str | None:
    """Return why a check or the permissions refuse the call, or None. A check that fails refuses it."""
    for check in ctx.tool_checks:
        try:
            refusal = check(ctx, call)
            if refusal is not None and not isinstance(refusal, str):
                refusal = await refusal
        except Exception as error:
            log.exception("a check failed on a call of %s, which is refused", call.name)
            refusal = f"blocked: the check before it failed: {describe_error(error)}"
        if refusal is not None:
            return refusal
    withheld = find_permission_error(ctx, tool) if ctx.settings.guards.authorization.enabled else None
    return None if withheld is None else f"error: {withheld}"


def _settle_from_journal(ctx: Context, call: ToolCall, entry: JournalEntry) -> None:
    keep_reserved_call(ctx, call)
    if entry.result is None:
        ctx.settle(call, INTERRUPTED_RESULT, "interrupted")
        return
    note_fenced_result(ctx, call, entry.result.text)
    ctx.settle(call, entry.result.text, entry.result.outcome, duration_ms=entry.result.duration_ms)


async def _run(ctx: Context, call: ToolCall, tool: Tool) -> None:
    await ctx.cancellation.checkpoint(ctx.services.clock)
    start_reserved_call(ctx, call)
    clock, journal = ctx.services.clock, ctx.services.store.journal
    if ctx.has_listeners:
        digest = compute_call_digest(ctx.run_id, call)
        arguments = deepcopy(dict(call.arguments)) if tool.risk >= Risk.HIGH else call.arguments
        if ctx.redactor is not None:
            arguments = await _redact_arguments(ctx, call, arguments)
        # Before the journal is written: a host stores both in one transaction.
        ctx.emit(ToolCallStarted(call_id=call.id, tool=call.name, arguments_digest=digest, arguments=arguments))
    await journal.start(ctx.run_id, call.id, call.name)
    if (propagated := PROPAGATED.get()) is not None:
        PROPAGATED.set(propagated.child(derive_span_id(ctx.run_id, call.id)))
    started = clock.monotonic()
    try:
        text, outcome = await _invoke(ctx, call, tool)
    except CallSuspended:
        note_suspended_call(ctx, call)
        ctx.awaiting_approval.add(call.id)
        return
    except asyncio.CancelledError:
        ctx.settle(call, CANCELLED_RESULT, "cancelled", duration_ms=_ms(clock.monotonic() - started))
        raise
    except BaseException as error:
        ctx.settle(call, f"error: {describe_error(error)}", "failed", duration_ms=_ms(clock.monotonic() - started))
        raise
    if ctx.redactor is not None:
        text, outcome = await redact_result(ctx, call, text, outcome)
    ctx.settle(call, _format_result(ctx, call, tool, text), outcome, duration_ms=_ms(clock.monotonic() - started))
    for hook in ctx.result_hooks:
        if (hooked := hook(ctx, call, ctx.results[call.id])) is not None:
            await hooked
    await journal.finish(ctx.run_id, ctx.results[call.id])


async def _redact_arguments(ctx: Context, call: ToolCall, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the arguments for the event, redacted; long ones in a thread, so that other turns go on."""
    if len(call.canonical_arguments()) <= MAX_INLINE_CHARACTERS:
        redacted = redact_values(arguments)
    else:
        redacted = await ctx.services.clock.run_in_thread(lambda: redact_values(arguments))
    return cast(Mapping[str, Any], redacted)


async def _invoke(ctx: Context, call: ToolCall, tool: Tool) -> tuple[str, ToolCallOutcome]:
    services = ctx.services
    default, maximum = services.settings.tools.call_seconds
    seconds = limit_call_seconds(ctx, call_timeout_seconds(tool.timeout_seconds, default, maximum))
    limit = TaskTimeout(services.clock, seconds)
    outcome: ToolCallOutcome = "failed"
    running = RUNNING_CALL.set(RunningCall(call.id, limit))
    runner, ctx.running_task = ctx.running_task, call  # not the task: a tool that runs its own turn is refused
    try:
        if tool.nested:
            return await tool.invoke(call.arguments, ctx.for_call(call), clock=services.clock), "completed"
        async with limit:
            text, outcome = await tool.invoke(call.arguments, ctx, clock=services.clock), "completed"
    except (BudgetExceeded, CallSuspended):
        raise
    except asyncio.CancelledError:
        if ctx.cancellation.is_requested:
            raise
        text = f"error: {call.name} was cancelled by itself: it waited for something that it had cancelled"
    except (Exception, SystemExit) as error:  # tools are third-party code, which may also call sys.exit
        if ctx.cancellation.is_requested:
            raise asyncio.CancelledError from error
        text = "" if limit.expired() else _error_text(call, error)
    finally:
        ctx.running_task = runner
        RUNNING_CALL.reset(running)
    if limit.expired():
        log.warning("tool %s did not finish within %g seconds", call.name, seconds)
        # A thread cannot be stopped: what it does is done, and the model must not believe otherwise.
        fate = "was stopped" if tool.is_async else "may still be running"
        return f"error: {call.name} did not finish within {seconds:g} seconds and {fate}", "timed_out"
    return text, outcome


def call_timeout_seconds(own_seconds: float | None, default: float, maximum: float) -> float:
    """Return the timeout of a call in seconds: the tool's own or the default, and never more than the maximum."""
    return min(own_seconds or default, maximum)


def _error_text(call: ToolCall, error: Exception | SystemExit) -> str:
    if isinstance(error, ToolError) and str(error):
        return f"error: {error}"
    log.warning("tool %s failed", call.name, exc_info=error)
    return f"error: {call.name} failed: {type(error).__name__}: {describe_error(error)}"


def _format_result(ctx: Context, call: ToolCall, tool: Tool, text: str) -> str:
    """Return the text that the model reads: with its note and fence at most `max_result_characters`."""
    limit = tool.max_result or ctx.services.settings.tools.max_result_characters
    note = truncate(_edit_note(ctx, call), limit // 2) if call.id in ctx.grants else ""
    room = limit - len(note)
    if tool.external or isinstance(text, ExternalText):
        note_untrusted_source(ctx, describe_source(call))
        fenced = fence_within(text, call.name, ctx.services.clock.new_nonce(), room)
        return note + (truncate(NO_ROOM_RESULT, room) if fenced is None else fenced)
    return note + limit_result(text, room)


def _edit_note(ctx: Context, call: ToolCall) -> str:
    """Return a note about edited arguments, because the transcript shows the original ones."""
    if not ctx.grants[call.id].edited:
        return ""
    arguments = truncate(redact_text(ctx, call.canonical_arguments().decode()), MAX_NOTE_CHARACTERS)
    return f"note: a person changed the arguments before approving; it ran with {arguments}\n"


def _ms(seconds: float) -> int:
    return round(seconds * 1000)
