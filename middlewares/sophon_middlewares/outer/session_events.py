"""Makes the conversation durable: what was said before is loaded, what is said now is kept."""

import asyncio

import anyio

from sophon.context import Context
from sophon.errors import SophonError
from sophon.events import Event, TaskCancelled, TaskCompleted, TaskFailed, TaskStarted
from sophon.events import Message as MessageAdded
from sophon.extensions import Key
from sophon.messages import Message, Response
from sophon.pipeline import Next
from sophon.stores.contracts import Compaction, History, SessionRecord
from sophon.transcript import is_sound, repaired

SOUND = "sound"
"""Names, in a session's `known`, the messages that were found to need no repair."""

COVERED: Key[int] = Key("session_events.covered", dump=int, load=int)
"""How many messages the stored compaction stands for."""


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
        if not ctx.resumed:
            await _begin(ctx)
        try:
            await next(ctx)
            response = ctx.conclude()
        except asyncio.CancelledError:
            await _fail(ctx, SessionRecord("cancelled", ctx.run_id), TaskCancelled(duration_ms=_ms(ctx)))
            raise
        except Exception as error:
            failure = describe(error, ctx.run_id)
            await _fail(ctx, SessionRecord("failed", ctx.run_id, data=failure), TaskFailed(error=failure))
            raise
        await _end(ctx, response)


def describe(error: Exception, run_id: str) -> dict[str, str]:
    """A failure in the three fields that an event carries; `id` finds it in the log."""
    code = error.code if isinstance(error, SophonError) else "internal"
    return {"code": code, "message": str(error) or type(error).__name__, "id": run_id}


async def _begin(ctx: Context) -> None:
    store = ctx.services.store.sessions
    history = await store.history(ctx.session_id)
    user = ctx.messages.pop()
    _join(ctx, history)
    seq = await store.append(ctx.session_id, [SessionRecord("message", ctx.run_id, user)], owner=ctx.principal)
    ctx.messages.append(user)
    ctx.recorded = len(ctx.messages)
    assert ctx.started_at is not None
    ctx.emit(TaskStarted(started_at=ctx.started_at.isoformat()))
    ctx.emit(MessageAdded(message_id=f"{ctx.session_id}:{seq}", role="user", content=user.content))


def _join(ctx: Context, history: History) -> None:
    """Put the history behind the system prompt; a broken one, which another program may have left, is mended first."""
    messages, compaction = history.messages, history.compaction
    known, _ = history.known.get(SOUND, (0, 0))
    if is_sound(messages, known):
        history.known[SOUND] = (len(messages), 1)
    else:
        if compaction is not None:
            compaction = Compaction(compaction.summary, len(repaired(messages[: compaction.covers])))
        messages = repaired(messages)
        history.known.clear()
    ctx.known = history.known
    ctx.messages += messages
    if compaction is not None:
        ctx.compaction = compaction
        ctx.put(COVERED, compaction.covers)
    ctx.model = ctx.model or history.model


async def _end(ctx: Context, response: Response) -> None:
    if response.finish_reason == "suspended":
        # What was said so far is part of the turn's state and is recorded when the turn ends.
        await ctx.services.store.sessions.append(ctx.session_id, [SessionRecord("suspended", ctx.run_id)])
        return
    if response.text and not _said(ctx, response.text):
        ctx.messages.append(Message("assistant", response.text))
    records = news(ctx)
    if response.finish_reason in ("budget_exceeded", "rejected"):
        reason = {"reason": response.finish_reason, **response.detail}
        records.append(SessionRecord("refused", ctx.run_id, data=reason))
    seq = await ctx.services.store.sessions.append(ctx.session_id, records, owner=ctx.principal)
    await ctx.services.store.journal.forget(ctx.run_id)
    if response.text:
        ctx.emit(MessageAdded(message_id=f"{ctx.session_id}:{seq}", role="assistant", content=response.text))
    ctx.emit(
        TaskCompleted(
            text=response.text, finish_reason=response.finish_reason, usage=response.usage, duration_ms=_ms(ctx)
        )
    )


def _said(ctx: Context, text: str) -> bool:
    last = ctx.messages[-1]
    return last.role == "assistant" and not last.tool_calls and last.content == text


def news(ctx: Context) -> list[SessionRecord]:
    """What the turn added and the store does not hold: messages whose calls have their results, and a compaction."""
    fresh = ctx.messages[ctx.recorded :]
    while fresh and not is_sound(fresh):
        fresh.pop()
    ctx.recorded += len(fresh)
    records = [SessionRecord("message", ctx.run_id, message) for message in fresh]
    compaction = ctx.compaction
    if compaction is not None and (ctx.get(COVERED) or 0) < compaction.covers <= ctx.stored:
        records.append(
            SessionRecord("compaction", ctx.run_id, compaction.summary, data={"covers": compaction.covers})
        )
    return records


async def _fail(ctx: Context, record: SessionRecord, event: Event) -> None:
    """Shielded: whoever cancels or fails a turn still gets its one outcome on record."""
    with anyio.CancelScope(shield=True):
        if ctx.shown:
            record.data = {**record.data, "shown": "".join(ctx.shown)}
        await ctx.services.store.sessions.append(ctx.session_id, [*news(ctx), record], owner=ctx.principal)
        ctx.emit(event)


def _ms(ctx: Context) -> int:
    return round(ctx.watch.seconds * 1000)
