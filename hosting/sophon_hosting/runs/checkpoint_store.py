"""Checkpoints of a host's runs: write what is new of a turn's state to the store, and read the state back."""

from sophon.context import Context
from sophon.context.turn_log import TurnEnd
from sophon.extensions import Key
from sophon.stores.runs.contract import Run, RunStore
from sophon.stores.runs.sql_transactions import checkpoint_write
from sophon.stores.unit_of_work import UnitOfWork
from sophon.turn.usage_rows import usage_rows
from sophon_hosting.events.event_bus import EventBus
from sophon_hosting.runs.active_runs import ActiveRun
from sophon_hosting.runs.checkpoint_builder import CheckpointBuilder
from sophon_hosting.runs.checkpoint_reader import LoadedCheckpoint, read_checkpoint, refers_to_history
from sophon_hosting.runs.traces import build_outcome_trace, to_writes
from sophon_hosting.store.contract import HostStore

CHECKPOINT_BUILDER: Key[CheckpointBuilder] = Key("checkpoint_builder")
"""Knows what the store has of the turn's checkpoints; missing until the first one."""


def stage_checkpoint(event_bus: EventBus, active_run: ActiveRun, ctx: Context) -> None:
    """Stage the state of the run's turn for the next transaction of its session.

    A later checkpoint builds on this one although it may not be stored yet: the parts of a session are stored in their
    order. If the store refuses it for good, the next one writes again what this one has.
    """
    builder = _builder_of(ctx)
    built = builder.build(ctx.snapshot(), ctx.history)
    usage = usage_rows(ctx.tally.unrecorded, ctx.session_id, ctx.run_id, ctx.services.clock.now())

    def settle(error: BaseException | None) -> None:
        if error is None:
            active_run.stored_usage = usage
        else:
            builder.revert(built)

    write = checkpoint_write(active_run.task_id, built.state, built.logs)
    active_run.checkpoint = event_bus.stage(ctx.session_id, write, settle)


async def suspend_run(event_bus: EventBus, runs: RunStore, active_run: ActiveRun, ctx: Context) -> Run:
    """Store the state of the run's turn, which waits for people, and return the suspended run. Raises StoreError."""
    await event_bus.flush(ctx.session_id)  # the checkpoints that this one builds on
    builder = _builder_of(ctx)
    built = builder.build(ctx.snapshot(), ctx.history)
    try:
        return await runs.suspend(
            active_run.task_id,
            built.state,
            active_run.pending_approval_ids,
            built.logs,
            unit=UnitOfWork(to_writes(build_outcome_trace(ctx, TurnEnd("suspended", ctx.response)))),
            start=active_run.start,
        )
    except BaseException:
        builder.revert(built)
        raise


async def load_checkpoint(store: HostStore, run: Run) -> LoadedCheckpoint:
    """Return the state of a run that has a checkpoint. Raises StateError, StoreError."""
    assert run.checkpoint is not None
    logs = await store.runs.load_logs(run.id)
    history = (await store.sessions.load_history(run.session_id)).messages if refers_to_history(logs) else []
    return read_checkpoint(run.checkpoint, logs, history)


def _builder_of(ctx: Context) -> CheckpointBuilder:
    builder = ctx.get(CHECKPOINT_BUILDER)
    if builder is None:
        ctx.put(CHECKPOINT_BUILDER, builder := CheckpointBuilder())
    return builder
