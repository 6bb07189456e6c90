"""Tool execution: runs the pending calls, and gives every call exactly one result."""

import asyncio
import logging

from sophon.approvals import compute_call_digest
from sophon.chain.pipeline import Next
from sophon.context import Context
from sophon.errors import BudgetExceeded, ToolError
from sophon.events import ToolCallStarted
from sophon.extensions import Key
from sophon.messages import ToolCall, ToolCallOutcome
from sophon.stores.tool_call_journal.contract import JournalEntry
from sophon.tools.tool import Tool
from sophon.tools.truncation import truncate
from sophon.tools.untrusted_text import fence_text
from sophon_middlewares.inner.call_checks import find_argument_error, find_call_error, find_grant_error

log = logging.getLogger("sophon.tools")

FENCE_CHARACTERS = 400
"""Characters reserved for the fence around an external result."""

MAX_NOTE_CHARACTERS = 1000
"""Maximum characters of edited arguments in a result's note."""

_JOURNAL: Key[dict[str, JournalEntry]] = Key("tool_execution.journal")


class ToolExecution:
    """Runs the pending calls in call order (one call in a branch) and ends the settling pass.

    An unknown or withheld tool, invalid arguments, an exception and a timeout each become an error result. A call of
    High risk or above runs only with a grant for exactly its arguments. Results are truncated to
    `Tools.MaxResultCharacters` (8000, reference/sophon.md 5.23). The journal prevents a resumed turn from running a
    finished call again. Raises BudgetExceeded. Calls that wait for approval stay pending.
    """

    zone = "inner"
    unique = True
    after = ("AgenticLoop", "ParallelExecution", "Approval")
    before = ("LlmInvoker",)
    acts = {"tool call": "checks name, arguments and grant; runs it with a timeout; truncates and journals the result"}

    async def __call__(self, ctx: Context, next: Next, /) -> None:
        if not ctx.settling:
            await next(ctx)
            return
        for call in list(ctx.pending):
            if call.id not in ctx.awaiting_approval:
                await _settle(ctx, call)


async def _settle(ctx: Context, call: ToolCall) -> None:
    tool = ctx.services.registry.get(call.name)
    error = find_call_error(ctx, call, tool)
    if error is not None or tool is None:
        ctx.settle(call, f"error: {error}", "failed")
        return
    refusal = find_grant_error(ctx, call, tool)
    if refusal is not None:
        invalid = find_argument_error(tool, call.arguments)
        ctx.settle(call, f"error: {invalid or refusal}", "failed" if invalid else "denied")
    elif not (ctx.resumed and await _settle_from_journal(ctx, call, tool)):
        await ctx.tool_limiter.acquire(tool.serial)
        try:
            await _run(ctx, call, tool)
        finally:
            ctx.tool_limiter.release()


async def _settle_from_journal(ctx: Context, call: ToolCall, tool: Tool) -> bool:
    """In a resumed turn, settle the call from the journal; return whether it did."""
    journal = ctx.get(_JOURNAL)
    if journal is None:
        journal = await ctx.services.store.journal.load_entries(ctx.run_id)
        ctx.put(_JOURNAL, journal)
    entry = journal.get(call.id)
    if entry is None or (entry.result is None and tool.idempotent):
        return False
    if entry.result is None:
        ctx.settle(
            call, "error: this call was interrupted; whether it took effect is unknown, so check first", "failed"
        )
    else:
        result = entry.result
        ctx.settle(call, result.text, result.outcome, duration_ms=result.duration_ms)
    return True


async def _run(ctx: Context, call: ToolCall, tool: Tool) -> None:
    if ctx.meter is not None:
        ctx.meter.reserve_tool_call()
    ctx.tally.tool_calls += 1
    clock, journal = ctx.services.clock, ctx.services.store.journal
    await journal.start(ctx.run_id, call.id, call.name)
    if ctx.has_listeners:
        digest = compute_call_digest(ctx.run_id, call)
        ctx.emit(ToolCallStarted(call_id=call.id, tool=call.name, arguments_digest=digest, arguments=call.arguments))
    started = clock.monotonic()
    try:
        text, outcome = await _invoke(ctx, call, tool)
    except asyncio.CancelledError:
        ctx.settle(call, "error: cancelled", "cancelled", duration_ms=_ms(clock.monotonic() - started))
        raise
    except BaseException as error:
        ctx.settle(call, f"error: {error}", "failed", duration_ms=_ms(clock.monotonic() - started))
        raise
    ctx.settle(call, _format_result(ctx, call, tool, text), outcome, duration_ms=_ms(clock.monotonic() - started))
    await journal.finish(ctx.run_id, ctx.results[call.id])


async def _invoke(ctx: Context, call: ToolCall, tool: Tool) -> tuple[str, ToolCallOutcome]:
    seconds = tool.timeout_seconds or ctx.settings.tools.timeout.total_seconds()
    limit: asyncio.Timeout | None = None
    try:
        async with ctx.services.clock.timeout(seconds) as limit:
            return await tool.invoke(call.arguments, ctx, clock=ctx.services.clock), "completed"
    except BudgetExceeded:
        raise
    except ToolError as error:
        return f"error: {error}", "failed"
    except TimeoutError as error:
        if limit is not None and limit.expired():
            return f"error: {call.name} did not finish within {seconds:g} seconds and was stopped", "timed_out"
        return _error_text(call, error), "failed"
    except Exception as error:  # noqa: BLE001 - tools are third-party code; any exception becomes an error result
        return _error_text(call, error), "failed"


def _error_text(call: ToolCall, error: Exception) -> str:
    log.warning("tool %s failed", call.name, exc_info=error)
    return f"error: {call.name} failed: {type(error).__name__}: {error}"


def _format_result(ctx: Context, call: ToolCall, tool: Tool, text: str) -> str:
    note = _edit_note(ctx, call)
    limit = (tool.max_result or ctx.settings.tools.max_result_characters) - len(note)
    if tool.external:
        cut = truncate(text, max(limit - FENCE_CHARACTERS, limit // 2))
        return note + fence_text(cut, call.name, ctx.services.clock.new_id()[-16:])
    return note + (truncate(text, limit) if len(text) > limit else text)


def _edit_note(ctx: Context, call: ToolCall) -> str:
    """Return a note about edited arguments, because the transcript shows the original ones."""
    grant = ctx.grants.get(call.id)
    if grant is None or not grant.edited:
        return ""
    arguments = truncate(call.canonical_arguments().decode(), MAX_NOTE_CHARACTERS)
    return f"note: a person changed the arguments before approving; it ran with {arguments}\n"


def _ms(seconds: float) -> int:
    return round(seconds * 1000)
