"""Start of a turn in its session: loads the stored history and records the user message, each once."""

from functools import partial

from sophon.context import Context
from sophon.context.turn_log import no_events
from sophon.events import Event, TaskStarted
from sophon.events import Message as MessageAdded
from sophon.extensions import Key
from sophon.messages import Message
from sophon.models.token_counter import PIECE_MESSAGES, is_worth_a_thread
from sophon.scheduled_turns import SCHEDULE, SCHEDULED_ORIGIN, strip_scheduled_prefix
from sophon.stores.sessions.contract import History, SessionRecord
from sophon.turn.history_redaction import redact_history_for_reader
from sophon.turn.permissions import may_read_full_history
from sophon.turn.transcript_validation import clean_history, is_clean_history
from sophon_middlewares.outer.context_window.context_view import CACHED_COUNT_PREFIX
from sophon_middlewares.outer.planning.planning import SESSION_PLANNING

STORED_COVERS: Key[int] = Key("session_events.covered", dump=int, load=int)
"""Number of messages that the stored compaction covers."""

STARTED_STAGES: Key[set[str]] = Key("session_events.started")
"""Stages of the turn's start that are done: `counted`, `loaded`, `recorded`; they are not repeated."""

RECORDED_SEQ: Key[int] = Key("session_events.begun_before", dump=int, load=int)
"""Set on a restarted turn: the seq under which the interrupted start recorded its message, the last of the history."""

REDACTED_HISTORY: Key[bool] = Key("session_events.redacted", dump=bool, load=bool)
"""Set on a turn whose person may not read the whole history: the model has it redacted, and no summary is stored."""

EARLIER_MESSAGES: Key[int] = Key("session_events.earlier", dump=int, load=int)
"""Number of messages in front of the one that began the turn: the system prompt and the history."""

VALIDATED_PREFIX = "sound"
"""Key, in a session's `prefix_cache`, of the number of messages that were found valid."""


async def start_turn(ctx: Context) -> None:
    """Load the history and record the user message, which begins the turn and announces it, each once per turn."""
    stages = ctx.get(STARTED_STAGES)
    if stages is None:
        stages = set[str]()
        ctx.put(STARTED_STAGES, stages)
    if "counted" not in stages:
        stages.add("counted")
        # The system prompt in front of the message belongs to the chain and is not stored.
        ctx.mark_recorded(len(ctx.messages) - 1)
    if "loaded" not in stages:
        history = await ctx.services.store.sessions.load_history(ctx.session_id)
        if ctx.get(RECORDED_SEQ):
            history.messages.pop()
            history.prefix_cache.clear()
        if not may_read_full_history(ctx) and history.messages:
            redacted = redact_history_for_reader(history.messages)
            history = History(redacted, None, history.model, planning=history.planning)
            ctx.put(REDACTED_HISTORY, True)
        if history.is_decoded:
            await prepare_history(ctx, history)
        stages.add("loaded")
        _insert_history(ctx, history)
        ctx.put(EARLIER_MESSAGES, ctx.count_recorded())
    if "recorded" not in stages:
        stages.add("recorded")
        try:
            await _record_user_message(ctx)
        except Exception:
            stages.discard("recorded")
            raise


def is_message_stored_before(ctx: Context) -> bool:
    """Whether a turn that has not begun here has its message in the session, from an interrupted start."""
    return ctx.get(RECORDED_SEQ) is not None and "recorded" not in (ctx.get(STARTED_STAGES) or ())


def redact_resumed_history(ctx: Context) -> None:
    """Redact the history of a resumed turn if its person may not read all of it now.

    Without the permission at its start the checkpoint has it redacted. Who has lost it since must not read on.
    """
    if ctx.get(REDACTED_HISTORY) or may_read_full_history(ctx):
        return
    count = ctx.get(EARLIER_MESSAGES)
    if count is None:  # suspended by a version that did not note it
        asked = (at for at, each in enumerate(ctx.messages) if each.role == "user" and not each.origin)
        count = max(asked, default=0)
    first = next((at for at, each in enumerate(ctx.messages) if each.role != "system"), 0)
    if first >= count and ctx.compaction is None:
        return
    ctx.put(REDACTED_HISTORY, True)
    ctx.messages[first:count] = redact_history_for_reader(ctx.messages[first:count])
    # A summary of the whole history says what is hidden now; one that is needed is made anew.
    ctx.history, ctx.prefix_cache, ctx.compaction = (), {}, None


async def _record_user_message(ctx: Context) -> None:
    """Record the user message, unless an interrupted start has, and mark all messages as recorded.

    The turn log completes the write even if the caller is cancelled, so only an error undoes the mark.
    """
    user, seq = ctx.messages[-1], ctx.get(RECORDED_SEQ) or 0
    schedule = ctx.get(SCHEDULE)
    data = {} if schedule is None else {SCHEDULED_ORIGIN: schedule}
    records = [] if seq else [SessionRecord("message", ctx.run_id, user, data)]
    events = partial(_message_events, ctx, user, seq) if ctx.has_listeners else no_events
    before = ctx.count_recorded()
    ctx.mark_recorded(len(ctx.messages))
    try:
        await ctx.services.turn_log.begin(ctx, records, events, ctx.emit)
    except Exception:
        ctx.mark_recorded(before)
        raise


def _message_events(ctx: Context, user: Message, recorded_seq: int, last_record_seq: int) -> list[Event]:
    """Return the events of a turn that begins: only the worker that the store lets begin it tells that it has."""
    assert ctx.started_at is not None
    started = TaskStarted(started_at=ctx.started_at.isoformat())
    message_id = f"{ctx.session_id}:{recorded_seq or last_record_seq}"
    if ctx.get(SCHEDULE) is not None:
        text = strip_scheduled_prefix(user.content)
        return [started, MessageAdded(message_id=message_id, role="user", content=text, origin=SCHEDULED_ORIGIN)]
    return [started, MessageAdded(message_id=message_id, role="user", content=user.content)]


def _insert_history(ctx: Context, history: History) -> None:
    """Insert the history after the system prompt; an invalid one, which another program may have written, is repaired,
    and internal messages of earlier turns are dropped.

    A compaction's `covers` counts these messages, because it was made from them.
    """
    ctx.model = ctx.model or history.model
    if history.planning is not None:
        ctx.put(SESSION_PLANNING, history.planning)
    messages = history.messages
    if not messages:
        return
    known, _ = history.prefix_cache.get(VALIDATED_PREFIX, (0, 0))
    if is_clean_history(messages, known):
        history.prefix_cache[VALIDATED_PREFIX] = (len(messages), 1)
        if not ctx.get(REDACTED_HISTORY):  # a checkpoint refers to the stored messages, which are the whole ones
            ctx.history = messages
    else:
        messages = clean_history(messages)
        history.prefix_cache.clear()
    ctx.prefix_cache = history.prefix_cache
    front = ctx.recorded
    ctx.messages[front:front] = messages
    ctx.mark_recorded(front + len(messages))
    if history.compaction is not None:
        ctx.compaction = history.compaction
        ctx.put(STORED_COVERS, history.compaction.covers)


async def prepare_history(ctx: Context, history: History) -> None:
    """Count, serialise and validate the messages that no earlier turn has, in a worker thread if they are long.

    Only for a history that `is_decoded`: one in memory has nothing to prepare, because its messages are those of
    earlier turns. What was done is noted in `history.prefix_cache`, which the store keeps.
    """
    gateway, messages = ctx.services.gateway, history.messages
    known, _ = history.prefix_cache.get(VALIDATED_PREFIX, (0, 0))
    if len(messages) - known > PIECE_MESSAGES and await ctx.services.clock.run_in_thread(  # of fewer the turn does it
        partial(is_clean_history, messages, known)
    ):
        history.prefix_cache[VALIDATED_PREFIX] = (len(messages), 1)
    counter = gateway.tokens.name
    known, tokens = history.prefix_cache.get(CACHED_COUNT_PREFIX + counter, (0, 0))
    if is_worth_a_thread(messages, known):
        tokens += await gateway.prepare_messages(messages[known:])
        if gateway.tokens.name == counter:
            history.prefix_cache[CACHED_COUNT_PREFIX + counter] = (len(messages), tokens)
    if is_worth_a_thread(ctx.messages, ctx.recorded):
        await gateway.prepare_messages(ctx.messages[ctx.recorded :])
