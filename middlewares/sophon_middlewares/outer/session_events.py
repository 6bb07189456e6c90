"""Makes the conversation durable: what was said before is loaded, what is said now is kept."""

import asyncio
import logging
from collections.abc import Sequence
from functools import partial

import anyio

from sophon.context import Context
from sophon.errors import SophonError, StoreError
from sophon.events import Event, TaskCancelled, TaskCompleted, TaskFailed, TaskStarted
from sophon.events import Message as MessageAdded
from sophon.extensions import Key
from sophon.messages import Message, Response
from sophon.pipeline import Next
from sophon.stores.contracts import History, SessionRecord
from sophon.transcript import is_sound, repaired
from sophon.context.turn_log import TurnEnd
from sophon_middlewares.outer.open_round import close_round

log = logging.getLogger("sophon")

SOUND = "sound"
"""Names, in a session's `known`, the messages that were found to need no repair."""

COVERED: Key[int] = Key("session_events.covered", dump=int, load=int)
"""How many messages the stored compaction stands for."""

BEGUN_BEFORE: Key[int] = Key("session_events.begun_before", dump=int, load=int)
"""Set on a turn that is begun again: a start that was cut off has recorded its message, the last of the history, under
this seq."""


class SessionEvents:
    """Loads the stored history in front of the user message and records that message before anything else happens;
    records what the turn added after it.

    A failure, a refusal, a suspend and a cancellation leave a record too, written in a shielded scope, and the error
    goes on. A resumed turn is not loaded or recorded again; a plan step (depth > 0) records nothing. Emits TaskStarted,
    Message, and the turn's one terminal event. Stands first.
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
                await _begin(ctx)
            await next(ctx)
            await _end(ctx, ctx.conclude())
        except asyncio.CancelledError:
            await _cancelled(ctx)
            raise
        except Exception as error:
            await _failed(ctx, error)
            raise
        await _forget_calls(ctx)


def describe(error: Exception, run_id: str) -> dict[str, str]:
    """A failure in the three fields that an event carries; `id` finds it in the log."""
    code = error.code if isinstance(error, SophonError) else "internal"
    return {"code": code, "message": str(error) or type(error).__name__, "id": run_id}


def news(ctx: Context) -> list[SessionRecord]:
    """What the turn added and the store does not hold: its messages, mended where they need it, and a compaction."""
    start = ctx.recorded_upto()
    if not is_sound(ctx.messages, start):
        ctx.messages[start:] = repaired(ctx.messages, start)
    records = [SessionRecord("message", ctx.run_id, message) for message in ctx.messages[start:]]
    compaction = ctx.compaction
    if compaction is not None and (ctx.get(COVERED) or 0) < compaction.covers <= ctx.stored + len(records):
        records.append(SessionRecord("compaction", ctx.run_id, compaction.summary, data={"covers": compaction.covers}))
    return records


async def _begin(ctx: Context) -> None:
    assert ctx.started_at is not None
    # What stands in front of the message, the system prompt, is the chain's own and not stored.
    ctx.mark_recorded(len(ctx.messages) - 1)
    if ctx.observed:
        ctx.emit(TaskStarted(started_at=ctx.started_at.isoformat()))
    history = await ctx.services.store.sessions.history(ctx.session_id)
    begun_before = ctx.get(BEGUN_BEFORE)
    if begun_before:
        history.messages.pop()
        history.known.clear()
    _join(ctx, history)
    user = ctx.messages[-1]
    if begun_before:
        ctx.mark_recorded(len(ctx.messages))
    seq = begun_before or await _append(ctx, [SessionRecord("message", ctx.run_id, user)])
    if ctx.observed:
        ctx.emit(MessageAdded(message_id=f"{ctx.session_id}:{seq}", role="user", content=user.content))


def _join(ctx: Context, history: History) -> None:
    """Put the history behind the system prompt; a broken one, which another program may have left, is mended first.

    What a compaction covers is counted in the mended messages: it was made of them.
    """
    ctx.model = ctx.model or history.model
    messages = history.messages
    if not messages:
        return
    known, _ = history.known.get(SOUND, (0, 0))
    if is_sound(messages, known):
        history.known[SOUND] = (len(messages), 1)
    else:
        messages = repaired(messages)
        history.known.clear()
    ctx.known = history.known
    front = ctx.recorded
    ctx.messages[front:front] = messages
    ctx.mark_recorded(front + len(messages))
    if history.compaction is not None:
        ctx.compaction = history.compaction
        ctx.put(COVERED, history.compaction.covers)


async def _end(ctx: Context, response: Response) -> None:
    if response.finish_reason == "suspended":
        # What was said so far is part of the turn's state and is recorded when the turn ends.
        await ctx.services.turn_log.conclude(
            ctx, [SessionRecord("suspended", ctx.run_id)], TurnEnd("suspended", response), ctx.emit
        )
        return
    await close_round(ctx)
    if response.text:
        _say(ctx, response.text)
    records = news(ctx)
    if response.finish_reason in ("budget_exceeded", "rejected"):
        reason = {"reason": response.finish_reason, **response.detail}
        records.append(SessionRecord("refused", ctx.run_id, data=reason))
    await _conclude(ctx, records, TurnEnd("completed", response, events=partial(_answered, ctx, response, records)))


def _answered(ctx: Context, response: Response, records: Sequence[SessionRecord], seq: int) -> list[Event]:
    """The agent's message, if there is one, and the end; `seq` is that of the last of the records."""
    if not ctx.observed:
        return []
    end = TaskCompleted(
        text=response.text, finish_reason=response.finish_reason, usage=response.usage, duration_ms=_ms(ctx)
    )
    if not response.text:
        return [end]
    seq -= sum(record.kind != "message" for record in records)  # what stands behind the agent's message
    return [MessageAdded(message_id=f"{ctx.session_id}:{seq}", role="assistant", content=response.text), end]


def _say(ctx: Context, text: str) -> None:
    """The agent's message is what the person was given, be it other than what the model said last."""
    last = ctx.messages[-1]
    if last.role != "assistant" or last.tool_calls or len(ctx.messages) <= ctx.recorded_upto():
        ctx.messages.append(Message("assistant", text))
    elif last.content != text:
        ctx.messages[-1] = Message("assistant", text)


async def _cancelled(ctx: Context) -> None:
    event = TaskCancelled(text="".join(ctx.shown), usage=ctx.tally.usage, duration_ms=_ms(ctx))
    await _conclude_badly(ctx, SessionRecord("cancelled", ctx.run_id), TurnEnd("cancelled", events=lambda _: [event]))


async def _failed(ctx: Context, error: Exception) -> None:
    failure = describe(error, ctx.run_id)
    if isinstance(error, SophonError):
        log.info("run %s failed: %s", ctx.run_id, error)
    else:
        log.error("run %s failed", ctx.run_id, exc_info=error)
    event = TaskFailed(error=failure, text="".join(ctx.shown), usage=ctx.tally.usage, duration_ms=_ms(ctx))
    end = TurnEnd("failed", error=failure, events=lambda _: [event])
    await _conclude_badly(ctx, SessionRecord("failed", ctx.run_id, data=failure), end)


async def _conclude_badly(ctx: Context, record: SessionRecord, end: TurnEnd) -> None:
    """Shielded: whoever cancels or fails a turn still gets its one outcome, on record if the store can take it.

    What the store raises here never takes the place of what ended the turn.
    """
    with anyio.CancelScope(shield=True):
        records = [record]
        try:
            await close_round(ctx)
            if ctx.shown:
                record.data = {**record.data, "shown": "".join(ctx.shown)}
            records = [*news(ctx), record]
        except Exception:
            log.exception("what run %s had added could not be gathered", ctx.run_id)
        try:
            await _conclude(ctx, records, end)
        except Exception:
            log.exception("the outcome of run %s could not be recorded", ctx.run_id)


async def _conclude(ctx: Context, records: Sequence[SessionRecord], end: TurnEnd) -> None:
    """Write the end through the turn log; the messages are recorded then, unless that end does not count."""
    before = ctx.recorded_upto()
    ctx.mark_recorded(len(ctx.messages))
    try:
        counts = await ctx.services.turn_log.conclude(ctx, records, end, ctx.emit)
    except Exception:
        ctx.mark_recorded(before)
        raise
    if not counts:
        ctx.mark_recorded(before)


async def _append(ctx: Context, records: Sequence[SessionRecord]) -> int:
    """Write, and note that all messages are recorded now: a store that was asked does it, even for one who has been
    cancelled since, so only an error leaves it undone.
    """
    before = ctx.recorded_upto()
    ctx.mark_recorded(len(ctx.messages))
    try:
        return await ctx.services.store.sessions.append(ctx.session_id, records, owner=ctx.principal)
    except Exception:
        ctx.mark_recorded(before)
        raise


async def _forget_calls(ctx: Context) -> None:
    """The turn has its outcome: no resumed run needs the journal. What cannot be forgotten does no harm."""
    if ctx.response is None or ctx.response.finish_reason == "suspended" or not (ctx.tally.tool_calls or ctx.resumed):
        return
    try:
        await ctx.services.store.journal.forget(ctx.run_id)
    except StoreError:
        log.warning("the journal of run %s was not forgotten", ctx.run_id, exc_info=True)


def _ms(ctx: Context) -> int:
    return round(ctx.watch.seconds * 1000)
