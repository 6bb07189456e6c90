"""Session events: loads the stored history before a turn, and records the turn's messages and outcome."""

import asyncio
import logging
from collections.abc import Sequence
from functools import partial

import anyio

from sophon.chain.pipeline import Next
from sophon.context import Context
from sophon.context.turn_log import TurnEnd
from sophon.errors import SophonError, StoreError
from sophon.events import Event, TaskCancelled, TaskCompleted, TaskFailed, TaskStarted
from sophon.events import Message as MessageAdded
from sophon.extensions import Key
from sophon.messages import Message, Response
from sophon.stores.sessions.contract import History, SessionRecord
from sophon.transcript_validation import is_valid_transcript, repair_transcript
from sophon_middlewares.outer.unfinished_calls import settle_unfinished_calls

log = logging.getLogger("sophon")

VALIDATED_PREFIX = "sound"
"""Key, in a session's `prefix_cache`, of the number of messages that were found valid."""

STORED_COVERS: Key[int] = Key("session_events.covered", dump=int, load=int)
"""Number of messages that the stored compaction covers."""

RECORDED_SEQ: Key[int] = Key("session_events.begun_before", dump=int, load=int)
"""Set on a restarted turn: the seq under which the interrupted start recorded its message, the last of the history."""


class SessionEvents:
    """Loads the stored history in front of the user message, and records that message before anything else happens;
    afterwards records what the turn added.

    A failure, refusal, suspension and cancellation are recorded too, in a shielded scope, and the error propagates. A
    resumed turn is not loaded or recorded again; a plan step (depth > 0) records nothing. Emits TaskStarted, Message,
    and the turn's one terminal event. Must be first in the chain.
    """

    zone = "outer"
    unique = True
    before = ("Budget", "CapabilityRouting", "ContextWindow", "ToolFilter", "PromptToolBridge", "Planning")
    acts = {"turn": "loads the history, records the user message before and the agent's messages after, failures too"}

    async def __call__(self, ctx: Context, next: Next, /) -> None:
        if ctx.depth:
            await next(ctx)
            return
        try:
            if not ctx.resumed:
                await _start_turn(ctx)
            await next(ctx)
            await _finish_turn(ctx, ctx.conclude())
        except asyncio.CancelledError:
            await _record_cancellation(ctx)
            raise
        except Exception as error:
            await _record_failure(ctx, error)
            raise
        await _delete_journal(ctx)


def error_to_json(error: Exception, run_id: str) -> dict[str, str]:
    """Return the error payload of an event; `id` finds the error in the log."""
    code = error.code if isinstance(error, SophonError) else "internal"
    return {"code": code, "message": str(error) or type(error).__name__, "id": run_id}


def collect_new_records(ctx: Context) -> list[SessionRecord]:
    """Return the records that the turn added: its messages, repaired if needed, and a compaction."""
    start = ctx.count_recorded()
    if not is_valid_transcript(ctx.messages, start):
        ctx.messages[start:] = repair_transcript(ctx.messages, start)
    records = [SessionRecord("message", ctx.run_id, message) for message in ctx.messages[start:]]
    compaction = ctx.compaction
    if compaction is not None and (ctx.get(STORED_COVERS) or 0) < compaction.covers <= ctx.stored_count + len(records):
        records.append(SessionRecord("compaction", ctx.run_id, compaction.summary, data={"covers": compaction.covers}))
    return records


async def _start_turn(ctx: Context) -> None:
    assert ctx.started_at is not None
    # The system prompt in front of the message belongs to the chain and is not stored.
    ctx.mark_recorded(len(ctx.messages) - 1)
    if ctx.has_listeners:
        ctx.emit(TaskStarted(started_at=ctx.started_at.isoformat()))
    history = await ctx.services.store.sessions.load_history(ctx.session_id)
    begun_before = ctx.get(RECORDED_SEQ)
    if begun_before:
        history.messages.pop()
        history.prefix_cache.clear()
    _insert_history(ctx, history)
    user = ctx.messages[-1]
    if begun_before:
        ctx.mark_recorded(len(ctx.messages))
    seq = begun_before or await _append(ctx, [SessionRecord("message", ctx.run_id, user)])
    if ctx.has_listeners:
        ctx.emit(MessageAdded(message_id=f"{ctx.session_id}:{seq}", role="user", content=user.content))


def _insert_history(ctx: Context, history: History) -> None:
    """Insert the history after the system prompt; an invalid one, which another program may have written, is repaired.

    A compaction's `covers` counts the repaired messages, because it was made from them.
    """
    ctx.model = ctx.model or history.model
    messages = history.messages
    if not messages:
        return
    known, _ = history.prefix_cache.get(VALIDATED_PREFIX, (0, 0))
    if is_valid_transcript(messages, known):
        history.prefix_cache[VALIDATED_PREFIX] = (len(messages), 1)
    else:
        messages = repair_transcript(messages)
        history.prefix_cache.clear()
    ctx.prefix_cache = history.prefix_cache
    front = ctx.recorded
    ctx.messages[front:front] = messages
    ctx.mark_recorded(front + len(messages))
    if history.compaction is not None:
        ctx.compaction = history.compaction
        ctx.put(STORED_COVERS, history.compaction.covers)


async def _finish_turn(ctx: Context, response: Response) -> None:
    if response.finish_reason == "suspended":
        # The messages so far are part of the turn's state and are recorded when the turn ends.
        await ctx.services.turn_log.conclude(
            ctx, [SessionRecord("suspended", ctx.run_id)], TurnEnd("suspended", response), ctx.emit
        )
        return
    await settle_unfinished_calls(ctx)
    if response.text:
        _set_reply(ctx, response.text)
    records = collect_new_records(ctx)
    if response.finish_reason in ("budget_exceeded", "rejected"):
        reason = {"reason": response.finish_reason, **response.detail}
        records.append(SessionRecord("refused", ctx.run_id, data=reason))
    await _conclude(ctx, records, TurnEnd("completed", response, events=partial(_final_events, ctx, response, records)))


def _final_events(ctx: Context, response: Response, records: Sequence[SessionRecord], seq: int) -> list[Event]:
    """Return the events of the reply, if there is one, and of the outcome; `seq` is that of the last record."""
    if not ctx.has_listeners:
        return []
    end = TaskCompleted(
        text=response.text, finish_reason=response.finish_reason, usage=response.usage, duration_ms=_elapsed_ms(ctx)
    )
    if not response.text:
        return [end]
    seq -= sum(record.kind != "message" for record in records)  # records after the reply
    return [MessageAdded(message_id=f"{ctx.session_id}:{seq}", role="assistant", content=response.text), end]


def _set_reply(ctx: Context, text: str) -> None:
    """Make the response text the last assistant message, also if the model's last reply was different."""
    last = ctx.messages[-1]
    if last.role != "assistant" or last.tool_calls or len(ctx.messages) <= ctx.count_recorded():
        ctx.messages.append(Message("assistant", text))
    elif last.content != text:
        ctx.messages[-1] = Message("assistant", text)


async def _record_cancellation(ctx: Context) -> None:
    event = TaskCancelled(text="".join(ctx.streamed_chunks), usage=ctx.tally.usage, duration_ms=_elapsed_ms(ctx))
    await _conclude_shielded(
        ctx, SessionRecord("cancelled", ctx.run_id), TurnEnd("cancelled", events=lambda _: [event])
    )


async def _record_failure(ctx: Context, error: Exception) -> None:
    failure = error_to_json(error, ctx.run_id)
    if isinstance(error, SophonError):
        log.info("run %s failed: %s", ctx.run_id, error)
    else:
        log.error("run %s failed", ctx.run_id, exc_info=error)
    event = TaskFailed(
        error=failure, text="".join(ctx.streamed_chunks), usage=ctx.tally.usage, duration_ms=_elapsed_ms(ctx)
    )
    end = TurnEnd("failed", error=failure, events=lambda _: [event])
    await _conclude_shielded(ctx, SessionRecord("failed", ctx.run_id, data=failure), end)


async def _conclude_shielded(ctx: Context, record: SessionRecord, end: TurnEnd) -> None:
    """Record a failure or cancellation, shielded, so that the turn gets its one outcome.

    An error of the store never replaces the error that ended the turn.
    """
    with anyio.CancelScope(shield=True):
        records = [record]
        try:
            await settle_unfinished_calls(ctx)
            if ctx.streamed_chunks:
                record.data = {**record.data, "shown": "".join(ctx.streamed_chunks)}
            records = [*collect_new_records(ctx), record]
        except Exception:
            log.exception("the records of run %s could not be collected", ctx.run_id)
        try:
            await _conclude(ctx, records, end)
        except Exception:
            log.exception("the outcome of run %s could not be recorded", ctx.run_id)


async def _conclude(ctx: Context, records: Sequence[SessionRecord], end: TurnEnd) -> None:
    """Write the end through the turn log; the messages count as recorded unless that end was not accepted."""
    before = ctx.count_recorded()
    ctx.mark_recorded(len(ctx.messages))
    try:
        counts = await ctx.services.turn_log.conclude(ctx, records, end, ctx.emit)
    except Exception:
        ctx.mark_recorded(before)
        raise
    if not counts:
        ctx.mark_recorded(before)


async def _append(ctx: Context, records: Sequence[SessionRecord]) -> int:
    """Append records and mark all messages as recorded.

    The store completes the write even if the caller is cancelled, so only an error undoes the mark.
    """
    before = ctx.count_recorded()
    ctx.mark_recorded(len(ctx.messages))
    try:
        return await ctx.services.store.sessions.append(ctx.session_id, records, owner=ctx.principal)
    except Exception:
        ctx.mark_recorded(before)
        raise


async def _delete_journal(ctx: Context) -> None:
    """Delete the journal of a finished turn, which no resumed run needs; a failure to delete is harmless."""
    if ctx.response is None or ctx.response.finish_reason == "suspended" or not (ctx.tally.tool_calls or ctx.resumed):
        return
    try:
        await ctx.services.store.journal.delete(ctx.run_id)
    except StoreError:
        log.warning("the journal of run %s was not deleted", ctx.run_id, exc_info=True)


def _elapsed_ms(ctx: Context) -> int:
    return round(ctx.stopwatch.seconds * 1000)
