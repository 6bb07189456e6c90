"""Checkpoints: store a turn's state before its tools run, so that a killed host runs no tool call twice."""

import asyncio

from sophon.chain.pipeline import Next, Pipeline
from sophon.context import Context
from sophon_hosting.runs.active_runs import ActiveRuns
from sophon_middlewares.inner.agentic_loop import AgenticLoop


class Checkpoints:
    """Middleware that writes the whole turn's state to its run in each settling pass, before any tool call runs.

    The journal identifies tool calls by id, and a repeated model call returns new ids; the calls must therefore be
    stored before they run. Within a plan step, the state of the whole plan's turn is written.
    """

    zone = "inner"
    unique = True
    calls_next = True
    after = ("AgenticLoop",)
    before = ("ParallelExecution", "Approval", "ToolExecution", "LlmInvoker")
    acts = {"tool batch": "stores the turn's state before its tool calls run"}  # noqa: RUF012 - plain data, as in every middleware

    def __init__(self, active_runs: ActiveRuns) -> None:
        self._active_runs = active_runs

    async def __call__(self, ctx: Context, next: Next, /) -> None:  # noqa: A002 - the middleware signature
        active_run = self._active_runs.get(ctx.task_id)
        if active_run is not None and active_run.is_cancel_requested:
            # A tool may have swallowed the cancellation; nothing may start after it.
            ctx.cancellation.request()
            raise asyncio.CancelledError
        if active_run is not None and active_run.ctx is not None and ctx.settling:
            await ctx.services.store.runs.checkpoint(active_run.task_id, active_run.ctx.state())
        await next(ctx)


def insert_checkpoints(chain: Pipeline, active_runs: ActiveRuns) -> Pipeline:
    """Return the chain with `Checkpoints` after its AgenticLoop; without an AgenticLoop, return it unchanged."""
    for index, middleware in enumerate(chain):
        if isinstance(middleware, AgenticLoop):
            return Pipeline.compose(*chain[: index + 1], Checkpoints(active_runs), *chain[index + 1 :])
    return chain
