"""Turn factory: build a run's turn, new, restarted, or restored from its checkpoint."""

from collections.abc import Awaitable, Callable
from typing import TypeAlias

from sophon.context import Context
from sophon.context.reply_stream import restart_stream
from sophon.goal_autonomy import GOAL_AUTONOMY, parse_autonomy
from sophon.messages import Message, attachments_from_json, images_from_json
from sophon.scheduled_turns import SCHEDULE, SCHEDULED_ORIGIN
from sophon.services import Services
from sophon.turn.chat_overrides import CHAT_OVERRIDES, ChatOverrides
from sophon.turn.provenance import note_untrusted_source
from sophon_hosting.runs.checkpoints.checkpoint_store import CHECKPOINT_BUILDER, load_checkpoint
from sophon_hosting.runs.data_owner_and_chat_overrides import OVERRIDES, audience_of_run, overrides_of_run
from sophon_hosting.runs.direct_calls import put_direct_call
from sophon_hosting.runs.own_text import FOREIGN_SOURCES
from sophon_hosting.runs.run_kinds import AUTONOMY, CALL
from sophon_hosting.store.contract import host_store
from sophon_hosting.store.runs.contract import Run
from sophon_middlewares.outer.session_events.turn_start import RECORDED_SEQ

PrepareRun: TypeAlias = Callable[[Run], Awaitable[Run]]
"""Returns the run as its turn receives it; may be slow, and must not raise an error that would end the run."""


async def build_turn(services: Services, run: Run, *, is_first_start: bool = False) -> Context:
    """Build the turn of a run; `is_first_start` states that this is its first start.

    Raises StateError, InputError, NotFound (the model no longer exists), StoreError.
    """
    audience = audience_of_run(run)
    if run.checkpoint is not None:
        loaded = await load_checkpoint(host_store(services), run)
        ctx = services.restore(loaded.state)
        ctx.put(CHECKPOINT_BUILDER, loaded.builder)
        ctx.history = loaded.history
        return ctx
    options = run.options
    ctx = services.turn(
        run.text,
        images=images_from_json(options["images"]) if options.get("images") else (),
        attachments=attachments_from_json(options["attachments"]) if options.get("attachments") else (),
        session_id=run.session_id,
        stream=bool(options.get("stream")),
        model=options.get("model"),
        planning=options.get("planning"),
        max_iterations=options.get("max_iterations"),
        temperature=options.get("temperature"),
        tags=options.get("tags", ()),
        principal=run.owner,
        group=audience.group,
        data_owner=audience.data_owner,
        channel=run.channel,
        run_id=run.id,
    )
    if run.origin.get(OVERRIDES):
        _apply_overrides(ctx, overrides_of_run(run))
    for source in run.origin.get(FOREIGN_SOURCES, ()):
        note_untrusted_source(ctx, source)
    if (schedule_id := run.origin.get(SCHEDULED_ORIGIN)) is not None:
        ctx.put(SCHEDULE, str(schedule_id))
    if CALL in options:
        put_direct_call(ctx, run)
    if AUTONOMY in options:
        ctx.put(GOAL_AUTONOMY, parse_autonomy(options[AUTONOMY]))
    if options.get("instructions"):
        ctx.messages.insert(len(ctx.messages) - 1, Message("system", options["instructions"]))
    if not is_first_start and (seq := await _find_message_seq(services, run)):
        ctx.put(RECORDED_SEQ, seq)
    return ctx


def _apply_overrides(ctx: Context, overrides: ChatOverrides) -> None:
    ctx.put(CHAT_OVERRIDES, overrides)
    if overrides.restricts_tools:
        ctx.tools = overrides.filter_tools(ctx.tools)


def restart_reply(ctx: Context, run: Run) -> None:
    """Emit a stream reset for a reply whose text was interrupted with the previous process."""
    if ctx.stream:
        ctx.epoch = max(ctx.epoch, run.starts - 1)
        restart_stream(ctx, "the turn was interrupted and restarts")


async def _find_message_seq(services: Services, run: Run) -> int:
    """Return the seq under which an interrupted start has stored the run's message; 0 if none has."""
    records = await host_store(services).sessions.list_records(run.session_id)
    return next((record.seq for record in records if record.run_id == run.id and record.kind == "message"), 0)
