"""Session events: loads the stored history before a turn, and records the turn's messages and outcome."""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from sophon.cancellation import run_despite_cancellation
from sophon.chain.pipeline import Next, complete_response
from sophon.context import Context
from sophon.context.reply_stream import shown_text
from sophon.context.turn_log import TurnEnd, no_events
from sophon.errors import SophonError, StoreError, StoreUnavailable, TurnAlreadyRun
from sophon.events import Event, TaskCancelled, TaskCompleted, TaskFailed
from sophon.events import Message as MessageAdded
from sophon.failure_log import log_failure
from sophon.messages import Message, Response, ToolCall, Usage
from sophon.security import describe_error
from sophon.stores.sessions.contract import SessionRecord
from sophon.stores.tool_call_journal.contract import JournalEntry
from sophon.tools.result_limit import limit_result
from sophon.turn.provenance import SOURCES_FIELD, note_fenced_result
from sophon.turn.transcript_validation import LOST_RESULT_TEXT, is_valid_transcript, repair_transcript
from sophon.turn.turn_claim import RESUMES_FIELD
from sophon_middlewares.inner.llm_invoker.reply import without_provider_fields
from sophon_middlewares.outer.budget.budget import record_usage, record_usage_of_failed_turn
from sophon_middlewares.outer.session_events.turn_start import (
    REDACTED_HISTORY,
    STORED_COVERS,
    is_message_stored_before,
    redact_resumed_history,
    start_turn,
)
from sophon_middlewares.tool_calls.tool_limits import max_result_characters

log = logging.getLogger("sophon")

CONCLUSION_SECONDS = 10.0
"""How long a store may take for the end of a cancelled turn before it is given up; see `run_despite_cancellation`."""

NOT_RUN_RESULT = "error: not run, because the turn ended"


class SessionEvents:
    """Loads the stored history in front of the user message, and records that message before anything else happens;
    afterwards records what the turn added.

    A failure, refusal, suspension and cancellation are recorded too, whatever cancellations arrive meanwhile, and the
    error propagates. A resumed turn is not loaded or recorded again, and neither is one that is run again before its
    end was recorded; a plan step (depth > 0) records nothing. Emits TaskStarted, Message, and the turn's one terminal
    event. Must be first in the chain. Raises TurnAlreadyRun for a turn that has ended.
    """

    zone = "outer"
    unique = True
    first = True
    calls_next = True
    before = ("Budget", "CapabilityRouting", "ContextWindow", "ToolFilter", "PromptToolBridge", "Planning")
    acts = {"turn": "loads the history, records the user message before and the agent's messages after, failures too"}

    async def __call__(self, ctx: Context, next: Next, /) -> None:
        if ctx.depth:
            await next(ctx)
            return
        if ctx.cancellation.is_end_recorded:
            raise TurnAlreadyRun(ctx.run_id, "ended")
        ctx.has_end_recorder = True
        try:
            await _run_turn(ctx, next)
        except asyncio.CancelledError:
            await _record_cancellation(ctx)
            raise
        except Exception as error:
            await _record_failure(ctx, error)
            raise
        if ctx.tally.tool_calls or ctx.resumed:
            await _delete_journal(ctx)

    async def record_end(self, ctx: Context, error: Exception | asyncio.CancelledError) -> None:
        """Record a turn that ended outside the chain as failed or cancelled; one whose end is recorded stays as it is.

        A host calls it after its time limit, for example, when the chain may not say how the turn ended.
        """
        if ctx.cancellation.is_end_recorded:
            return
        if not ctx.resumed:
            await start_turn(ctx)
        if isinstance(error, Exception):
            await _record_failure(ctx, error)
        else:
            await _record_cancellation(ctx)


async def _run_turn(ctx: Context, next: Next) -> None:
    try:
        if ctx.resumed:
            redact_resumed_history(ctx)
        else:
            await start_turn(ctx)
        await next(ctx)
        # Before the end is recorded, which a later cancellation does not change.
        await ctx.cancellation.checkpoint(ctx.services.clock)
        await _finish_turn(ctx, complete_response(ctx))
    except (Exception, asyncio.CancelledError) as error:
        await ctx.cancellation.enforce_after(error, whole_turn=True)
        raise
    if not ctx.cancellation.is_end_recorded:
        await ctx.cancellation.enforce_after(None, whole_turn=True)


def error_to_json(error: Exception, run_id: str) -> dict[str, str]:
    """Return the error payload of an event; `id` finds the error in the log."""
    code = error.code if isinstance(error, SophonError) else "internal"
    return {"code": code, "message": describe_error(error), "id": run_id}


def collect_new_records(ctx: Context) -> list[SessionRecord]:
    """Return the records that the turn added: its messages, repaired if needed, and a compaction."""
    start = ctx.count_recorded()
    if not is_valid_transcript(ctx.messages, start):
        ctx.messages[start:] = repair_transcript(ctx.messages, start)
    added = ctx.messages[start:]
    # An assistant message without content is refused by some providers, and would end the session.
    kept = [each for each in added if each.role != "assistant" or each.tool_calls or each.content.strip()]
    if len(kept) < len(added):
        ctx.messages[start:] = kept
    kept = [each if each.reasoning is None else without_provider_fields(each) for each in kept]
    records = [SessionRecord("message", ctx.run_id, message) for message in kept]
    if records and ctx.tally.untrusted_sources:
        records[-1].data = {SOURCES_FIELD: list(ctx.tally.untrusted_sources)}
    compaction = None if ctx.get(REDACTED_HISTORY) else ctx.compaction
    if compaction is not None and (ctx.get(STORED_COVERS) or 0) < compaction.covers <= ctx.stored_count + len(records):
        records.append(SessionRecord("compaction", ctx.run_id, compaction.summary, data={"covers": compaction.covers}))
    return records


async def _finish_turn(ctx: Context, response: Response) -> None:
    if response.finish_reason == "suspended":
        # The messages so far are part of the turn's state and are recorded when the turn ends.
        await ctx.services.turn_log.conclude(
            ctx,
            [SessionRecord("suspended", ctx.run_id, data={RESUMES_FIELD: ctx.resumes} if ctx.resumes else {})],
            TurnEnd("suspended", response),
            ctx.emit,
        )
        return
    await settle_unfinished_calls(ctx)
    if response.text.strip():
        # The response text is the last assistant message, also if the model's last reply was different.
        last = ctx.messages[-1]
        if last.role != "assistant" or last.tool_calls or len(ctx.messages) <= ctx.count_recorded():
            ctx.messages.append(Message("assistant", response.text))
        elif last.content != response.text:
            ctx.messages[-1] = replace(last, content=response.text)
    await record_usage(ctx)
    records = collect_new_records(ctx)
    # A turn that adds no message says by this record that it has ended.
    if response.finish_reason in ("budget_exceeded", "rejected") or not records:
        reason = {"reason": response.finish_reason, **response.detail}
        records.append(SessionRecord("refused", ctx.run_id, data=reason))
    events = partial(_final_events, ctx, response, records) if ctx.has_listeners else no_events
    await _conclude(ctx, records, TurnEnd("completed", response, events=events))


def _final_events(ctx: Context, response: Response, records: Sequence[SessionRecord], seq: int) -> list[Event]:
    """Return the events of the reply, if there is one, and of the outcome; `seq` is that of the last record."""
    end = TaskCompleted(
        text=response.full_text,
        finish_reason=response.finish_reason,
        usage=response.usage,
        duration_ms=_elapsed_ms(ctx),
        tool_rounds=response.tool_rounds,
        fallback_attempts=response.fallback_attempts,
        model=response.model,
    )
    if not response.text.strip():
        return [end]
    seq -= sum(record.kind != "message" for record in records)  # records after the reply
    return [MessageAdded(message_id=f"{ctx.session_id}:{seq}", role="assistant", content=response.text), end]


def _charged_usage(ctx: Context) -> Usage:
    """Return what the turn has cost so far, with calls that were cut off: their reply, and so its usage, is missing."""
    return ctx.tally.metered.to_usage() if ctx.tally.metered.calls else ctx.tally.usage


async def _record_cancellation(ctx: Context) -> None:
    ctx.cancellation.request()
    shown = Response(shown_text(ctx), "cancelled", _charged_usage(ctx))
    event = TaskCancelled(text=shown.text, usage=shown.usage, duration_ms=_elapsed_ms(ctx))
    end = TurnEnd("cancelled", shown, events=lambda _: [event])
    await _conclude_despite_cancellation(ctx, SessionRecord("cancelled", ctx.run_id), end)


async def _record_failure(ctx: Context, error: Exception) -> None:
    failure = error_to_json(error, ctx.run_id)
    if isinstance(error, StoreUnavailable):  # a host runs it again when the store is available
        log.info("run %s was interrupted: %s", ctx.run_id, error)
    elif isinstance(error, SophonError):
        log.info("run %s failed: %s", ctx.run_id, error)
    else:
        log.error("run %s failed", ctx.run_id, exc_info=error)
    shown = Response(shown_text(ctx), "error", _charged_usage(ctx))
    event = TaskFailed(error=failure, text=shown.text, usage=shown.usage, duration_ms=_elapsed_ms(ctx))
    end = TurnEnd("failed", shown, error=failure, events=lambda _: [event])
    await _conclude_despite_cancellation(ctx, SessionRecord("failed", ctx.run_id, data=failure), end)


async def _conclude_despite_cancellation(ctx: Context, record: SessionRecord, end: TurnEnd) -> None:
    """Record a failure or cancellation, so that the turn gets its one outcome whatever cancellations arrive meanwhile.

    An error of the store never replaces the error that ended the turn; a cancellation does, after the turn is recorded.
    """
    try:
        await run_despite_cancellation(
            _conclude_unfinished(ctx, record, end), CONCLUSION_SECONDS, is_cancelled=end.status == "cancelled"
        )
    except TimeoutError:
        ctx.cancellation.is_end_recorded = True
        log.error("the outcome of run %s was not recorded within %g seconds", ctx.run_id, CONCLUSION_SECONDS)  # noqa: TRY400


async def _conclude_unfinished(ctx: Context, record: SessionRecord, end: TurnEnd) -> None:
    records = [record]
    try:
        await settle_unfinished_calls(ctx)
        if is_message_stored_before(ctx):
            ctx.mark_recorded(len(ctx.messages))
        unfinished = "".join(ctx.streamed_chunks)
        if unfinished and (ctx.messages[-1].role, ctx.messages[-1].content) != ("assistant", unfinished):
            record.data = {**record.data, "shown": unfinished}
        records = [*collect_new_records(ctx), record]
    except (Exception, asyncio.CancelledError):
        log.exception("the records of run %s could not be collected", ctx.run_id)
    await record_usage_of_failed_turn(ctx)
    try:
        await _conclude(ctx, records, end)
    except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001 - logged; cancelled: the store took too long
        ctx.cancellation.is_end_recorded = True  # the turn log has announced it all the same
        log_failure(log, error, "the outcome of run %s could not be recorded", ctx.run_id)


async def _conclude(ctx: Context, records: Sequence[SessionRecord], end: TurnEnd) -> None:
    """Write the end through the turn log; the messages count as recorded unless that end was not accepted."""
    before = ctx.count_recorded()
    ctx.mark_recorded(len(ctx.messages))
    try:
        counts = await ctx.services.turn_log.conclude(ctx, records, end, ctx.emit)
    except Exception:
        ctx.mark_recorded(before)
        raise
    if counts:
        ctx.cancellation.is_end_recorded = True
    else:
        ctx.mark_recorded(before)


async def _delete_journal(ctx: Context) -> None:
    """Delete the journal of a finished turn with tool calls, which no resumed run needs; a failure is harmless."""
    if ctx.response is None or ctx.response.finish_reason == "suspended":
        return
    try:
        await ctx.services.store.journal.delete(ctx.run_id)
    except StoreError as error:
        log_failure(log, error, "the journal of run %s was not deleted", ctx.run_id)


def _elapsed_ms(ctx: Context) -> int:
    return round(ctx.stopwatch.seconds * 1000)


async def settle_unfinished_calls(ctx: Context) -> None:
    """Append a result for every unanswered call, from the journal where it is known: the calls may have had effects."""
    last = ctx.messages[-1] if ctx.messages else None
    if last is None or (last.role != "tool" and not last.tool_calls):
        return  # fast path: a reply without calls
    calls = find_unfinished_calls(ctx.messages[ctx.count_recorded() :])
    if not calls:
        return
    journal = await ctx.services.store.journal.load_entries(ctx.run_id)
    for call in calls:
        text = limit_result(_result_text(ctx, call, journal.get(call.id)), max_result_characters(ctx, call))
        note_fenced_result(ctx, call, text)
        ctx.messages.append(Message("tool", text, tool_call_id=call.id))


def find_unfinished_calls(messages: Sequence[Message]) -> list[ToolCall]:
    """Return the calls at the end of a transcript that have no result."""
    answered: set[str | None] = set()
    for message in reversed(messages):
        if message.role != "tool":
            return [call for call in message.tool_calls if call.id not in answered]
        answered.add(message.tool_call_id)
    return []


def _result_text(ctx: Context, call: ToolCall, entry: JournalEntry | None) -> str:
    result = ctx.results.get(call.id) or (entry.result if entry is not None else None)
    if result is not None:
        return result.text
    return NOT_RUN_RESULT if entry is None else LOST_RESULT_TEXT
