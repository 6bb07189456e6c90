"""Runs tools: every call gets exactly one result that the model can use, whatever happens."""

import asyncio
import logging

from sophon.approvals import call_digest
from sophon.context import Context
from sophon.errors import BudgetExceeded, ToolError
from sophon.events import ToolCallStarted
from sophon.extensions import Key
from sophon.messages import Outcome, ToolCall
from sophon.pipeline import Next
from sophon.stores.contracts import JournalEntry
from sophon.tools.fencing import fence
from sophon.tools.tool import Tool
from sophon.tools.truncation import truncate
from sophon_middlewares.inner.admission import misfit, ungranted, unusable

log = logging.getLogger("sophon.tools")

FENCE_ROOM = 400
"""Characters kept free for the fence around a result from outside."""

NOTE_ROOM = 1000
"""Characters of changed arguments that the model is shown."""

_JOURNAL: Key[dict[str, JournalEntry]] = Key("tool_execution.journal")


class ToolExecution:
    """Runs what is pending in call order (in a branch that is one call) and ends the settling pass there.

    An unknown or withheld tool, invalid arguments, an exception and a time-out each become an error result. A call of
    High risk or above runs only with a grant for exactly its arguments. Results are cut to `Tools.MaxResultCharacters`
    (8000, reference/sophon.md 5.23). The journal keeps a resumed turn from running a finished call again. Raises
    BudgetExceeded; what waits for a person is left alone.
    """

    zone = "inner"
    unique = True
    after = ("AgenticLoop", "ParallelExecution", "Approval")
    before = ("LlmInvoker",)
    acts = {
        "tool call": "checks name, arguments and grant, runs it within its time, cuts the result, keeps the journal"
    }

    async def __call__(self, ctx: Context, next: Next, /) -> None:
        if not ctx.settling:
            await next(ctx)
            return
        for call in list(ctx.pending):
            if call.id not in ctx.waiting:
                await _settle(ctx, call)


async def _settle(ctx: Context, call: ToolCall) -> None:
    tool = ctx.services.registry.get(call.name)
    fault = unusable(ctx, call, tool)
    if fault is not None or tool is None:
        ctx.settle(call, f"error: {fault}", "failed")
        return
    refusal = ungranted(ctx, call, tool)
    if refusal is not None:
        wrong = misfit(tool, call.arguments)
        ctx.settle(call, f"error: {wrong or refusal}", "failed" if wrong else "denied")
    elif not (ctx.resumed and await _settled_before(ctx, call, tool)):
        await ctx.places.acquire(tool.serial)
        try:
            await _run(ctx, call, tool)
        finally:
            ctx.places.release()


async def _settled_before(ctx: Context, call: ToolCall, tool: Tool) -> bool:
    """In a resumed turn: what the journal knows of the call stands."""
    journal = ctx.get(_JOURNAL)
    if journal is None:
        journal = await ctx.services.store.journal.entries(ctx.run_id)
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
        ctx.meter.tool_call()
    ctx.tally.tool_calls += 1
    clock, journal = ctx.services.clock, ctx.services.store.journal
    await journal.start(ctx.run_id, call.id, call.name)
    if ctx.observed:
        digest = call_digest(ctx.run_id, call)
        ctx.emit(ToolCallStarted(call_id=call.id, tool=call.name, arguments_digest=digest, arguments=call.arguments))
    began = clock.monotonic()
    try:
        text, outcome = await _attempt(ctx, call, tool)
    except asyncio.CancelledError:
        ctx.settle(call, "error: cancelled", "cancelled", duration_ms=_ms(clock.monotonic() - began))
        raise
    except BaseException as error:
        ctx.settle(call, f"error: {error}", "failed", duration_ms=_ms(clock.monotonic() - began))
        raise
    ctx.settle(call, _presentable(ctx, call, tool, text), outcome, duration_ms=_ms(clock.monotonic() - began))
    await journal.finish(ctx.run_id, ctx.results[call.id])


async def _attempt(ctx: Context, call: ToolCall, tool: Tool) -> tuple[str, Outcome]:
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
        return _told(call, error), "failed"
    except Exception as error:  # noqa: BLE001 - a tool is foreign code; whatever it raises is an answer to the model
        return _told(call, error), "failed"


def _told(call: ToolCall, error: Exception) -> str:
    log.warning("tool %s failed", call.name, exc_info=error)
    return f"error: {call.name} failed: {type(error).__name__}: {error}"


def _presentable(ctx: Context, call: ToolCall, tool: Tool, text: str) -> str:
    note = _note(ctx, call)
    room = (tool.max_result or ctx.settings.tools.max_result_characters) - len(note)
    if tool.external:
        cut = truncate(text, max(room - FENCE_ROOM, room // 2))
        return note + fence(cut, call.name, ctx.services.clock.new_id()[-16:])
    return note + (truncate(text, room) if len(text) > room else text)


def _note(ctx: Context, call: ToolCall) -> str:
    """What the model must know of a call that a person changed: its own transcript shows the old arguments."""
    grant = ctx.grants.get(call.id)
    if grant is None or not grant.edited:
        return ""
    arguments = truncate(call.canonical().decode(), NOTE_ROOM)
    return f"note: a person changed the arguments before approving; it ran with {arguments}\n"


def _ms(seconds: float) -> int:
    return round(seconds * 1000)
