"""From a run to the turn that carries it out: a new one, one begun again, or one that goes on from its checkpoint."""

from sophon.context import Context
from sophon.events import StreamReset
from sophon.messages import Message
from sophon.services import Services
from sophon.stores.run_contracts import Run
from sophon_middlewares.outer.session_events import BEGUN_BEFORE


async def turn_of(services: Services, run: Run, *, fresh: bool = False) -> Context:
    """The turn of a run; `fresh` says that nobody can have begun it before.

    Raises StateError, InputError, NotFound (a model that is no longer there), StoreError.
    """
    if run.checkpoint is not None:
        return services.restore(run.checkpoint)
    options = run.options
    ctx = services.turn(
        run.text,
        session_id=run.session_id,
        stream=bool(options.get("stream")),
        model=options.get("model"),
        planning=options.get("planning"),
        principal=run.owner,
        channel=run.channel,
        run_id=run.id,
    )
    if options.get("instructions"):
        ctx.messages.insert(len(ctx.messages) - 1, Message("system", options["instructions"]))
    if not fresh and (seq := await _seq_of_its_message(services, run)):
        ctx.put(BEGUN_BEFORE, seq)
    return ctx


def begin_reply_anew(ctx: Context, run: Run) -> None:
    """Tell whoever saw a part of the reply, before its process was gone, that it starts again."""
    if ctx.stream:
        ctx.epoch = max(ctx.epoch + 1, run.starts)
        ctx.emit(StreamReset(epoch=ctx.epoch, reason="the turn was cut off and is carried out again"))


async def _seq_of_its_message(services: Services, run: Run) -> int:
    """Under which seq a start that was cut off has made the message part of the conversation; 0 if none has."""
    records = await services.store.sessions.records(run.session_id)
    return next((record.seq for record in records if record.run_id == run.id and record.kind == "message"), 0)
