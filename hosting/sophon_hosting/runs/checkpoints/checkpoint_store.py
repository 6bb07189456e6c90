"""Checkpoints of a host: stage the state of a turn before its tools run, so that a killed host runs no tool call twice;
write what is new of it to the store, and read the state back.
"""

import asyncio
from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any, TypeAlias

from sophon._python.lazy_dataclass import dataclass
from sophon.chain.pipeline import Next
from sophon.context import Context
from sophon.context.message_list import MessageList
from sophon.context.state_serialization import Snapshot, message_from_json, messages_from_json
from sophon.context.turn_log import TurnEnd
from sophon.errors import StateError
from sophon.extensions import Key
from sophon.messages import Message
from sophon.stores.unit_of_work import UnitOfWork
from sophon_hosting.events.event_bus import EventBus
from sophon_hosting.runs.active_runs import ActiveRun, ActiveRuns
from sophon_hosting.runs.checkpoints.checkpoint_builder import (
    MESSAGE_REFERENCES,
    STORED,
    TEXT_LOG,
    TEXT_REFERENCES,
    CheckpointBuilder,
    MessageLog,
    TextLog,
)
from sophon_hosting.runs.traces import build_outcome_trace, to_writes
from sophon_hosting.store.contract import HostStore
from sophon_hosting.store.runs.contract import Run, RunStore
from sophon_hosting.store.runs.sql_transactions import checkpoint_write
from sophon_middlewares.outer.budget.budget import usage_rows

CHECKPOINT_BUILDER: Key[CheckpointBuilder] = Key("checkpoint_builder")
"""Knows what the store has of the turn's checkpoints; missing until the first one."""

Logs: TypeAlias = Mapping[int, Sequence[Any]]
"""Entries of the logs of a run, by the log's number."""


@dataclass(frozen=True, slots=True)
class LoadedCheckpoint:
    """State from a checkpoint, for `services.restore`; the builder of the checkpoints that follow it; the history."""

    state: Mapping[str, Any]
    builder: CheckpointBuilder
    history: Sequence[Message] = ()

    @property
    def messages(self) -> list[Message]:
        """The messages of the turn."""
        return messages_from_json(self.state["messages"])


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
    active_run.checkpoint = event_bus.session(ctx.session_id).stage(write, settle)


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


def refers_to_history(logs: Logs) -> bool:
    """Return whether an entry stands for messages of the session's history."""
    return any(STORED in entry for number, log in logs.items() if number != TEXT_LOG for entry in log)


def read_checkpoint(checkpoint: Mapping[str, Any], logs: Logs, history: Sequence[Message]) -> LoadedCheckpoint:
    """Return the state. Raises StateError for a log or a history that lacks what the checkpoint refers to."""
    # The message lists of the state are those whose logs the builder knows: the restored turn works on them.
    root: dict[str, Any] = {"state": deepcopy(dict(checkpoint))}
    texts = logs.get(TEXT_LOG, ())
    message_logs: list[MessageLog] = []
    try:
        for path, number, count in root["state"].pop(MESSAGE_REFERENCES):
            log = _read_log(number, logs.get(number, ())[:count], count, history)
            message_logs.append(log)
            holder, key = _find_place(root, path)
            holder[key] = Snapshot({**holder[key], "messages": log.messages})
        for path, position in root["state"].pop(TEXT_REFERENCES):
            holder, key = _find_place(root, path)
            holder[key] = texts[position]
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        raise StateError(f"the checkpoint cannot be read: {type(error).__name__}: {error}") from error
    return LoadedCheckpoint(root["state"], CheckpointBuilder(message_logs, TextLog(texts)), history)


def _read_log(number: int, entries: Sequence[Any], count: int, history: Sequence[Message]) -> MessageLog:
    if len(entries) < count:
        raise StateError(f"the checkpoint refers to {count} entries of a log that has {len(entries)}")
    messages, ends = MessageList(), list[int]()
    for entry in entries:
        if STORED in entry:
            start, end = entry[STORED]
            if end > len(history):
                raise StateError(f"the checkpoint refers to {end} stored messages; the session has {len(history)}")
            messages += history[start:end]
        else:
            messages.append(message_from_json(entry))
        ends.append(len(messages))
    messages.mark_unchanged()
    return MessageLog(number, messages, ends)


def _find_place(root: dict[str, Any], path: Sequence[str | int]) -> tuple[Any, Any]:
    """Return the object that holds a value of the state, and the value's key in it."""
    holder: Any = root
    *parents, key = ("state", *path)
    for parent in parents:
        holder = holder[parent]
    return holder, key


class Checkpoints:
    """Middleware that stages the turn's state in each settling pass, before any tool call runs.

    The journal identifies tool calls by id, and a repeated model call returns new ids; the calls must therefore be
    stored before they run: `TurnJournal` stores the first call and the checkpoint in one transaction. Without a call
    that runs, it is stored soon after. Messages that the store has, those of the history and of earlier rounds, are not
    written again. Within a plan step, the state of the whole plan's turn is staged.
    """

    zone = "inner"
    unique = True
    calls_next = True
    after = ("AgenticLoop",)
    follows = ("AgenticLoop",)
    placed_with = ("AgenticLoop",)
    before = ("ParallelExecution", "Approval", "ToolExecution", "LlmInvoker")
    acts = {"tool batch": "stores the turn's state before its tool calls run"}  # noqa: RUF012 - plain data, as in every middleware

    def __init__(self, active_runs: ActiveRuns, event_bus: EventBus) -> None:
        self._active_runs, self._event_bus = active_runs, event_bus

    async def __call__(self, ctx: Context, next: Next, /) -> None:  # noqa: A002 - the middleware signature
        active_run = self._active_runs.get(ctx.task_id)
        if active_run is not None and active_run.is_cancel_requested:
            # A tool may have swallowed the cancellation; nothing may start after it.
            ctx.cancellation.request()
            raise asyncio.CancelledError
        if active_run is not None and active_run.ctx is not None and ctx.settling:
            stage_checkpoint(self._event_bus, active_run, active_run.ctx)
        await next(ctx)
