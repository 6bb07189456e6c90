"""Keeps how far a turn is before its tools run, so that a host that is killed runs none of them twice."""

import asyncio

from sophon.context import Context
from sophon.pipeline import Next, Pipeline
from sophon_hosting.runs.jobs import Jobs
from sophon_middlewares.inner.agentic_loop import AgenticLoop


class Checkpoints:
    """Writes the whole turn's state to its run in each settling pass, before any call is settled.

    The journal knows calls by their ids, and a model that is asked again gives new ones: what was asked for must be
    kept before it is done. In a step of a plan it is the plan's turn that is written, with all its steps under way.
    """

    zone = "inner"
    unique = True
    after = ("AgenticLoop",)
    before = ("ParallelExecution", "Approval", "ToolExecution", "LlmInvoker")
    acts = {"tool batch": "keeps how far the turn is before its calls are settled"}  # noqa: RUF012 - plain data, as in every middleware

    def __init__(self, jobs: Jobs) -> None:
        self._jobs = jobs

    async def __call__(self, ctx: Context, next: Next, /) -> None:  # noqa: A002 - the chain's word
        job = self._jobs.get(ctx.task_id)
        if job is not None and job.cancel_wanted:
            # A tool may have swallowed the cancellation: all the same nothing begins after it.
            raise asyncio.CancelledError
        if job is not None and job.ctx is not None and ctx.settling:
            await ctx.services.store.runs.checkpoint(job.task_id, job.ctx.state())
        await next(ctx)


def with_checkpoints(chain: Pipeline, jobs: Jobs) -> Pipeline:
    """The chain with `Checkpoints` right behind its loop; a chain without one stays as it is."""
    for index, middleware in enumerate(chain):
        if isinstance(middleware, AgenticLoop):
            return Pipeline.compose(*chain[: index + 1], Checkpoints(jobs), *chain[index + 1 :])
    return chain
