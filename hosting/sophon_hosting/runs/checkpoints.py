"""Checkpoints: stage a turn's state before its tools run, so that a killed host runs no tool call twice."""

import asyncio

from sophon.chain.pipeline import Next
from sophon.context import Context
from sophon_hosting.events.event_bus import EventBus
from sophon_hosting.runs.active_runs import ActiveRuns
from sophon_hosting.runs.checkpoint_store import stage_checkpoint


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
