"""Parallel execution: settles several calls of one reply concurrently."""

import asyncio
from collections.abc import Sequence

from sophon.chain.pipeline import Next
from sophon.context import Context
from sophon.errors import ChainError
from sophon.messages import ToolCall


class ParallelExecution:
    """In a settling pass with two or more pending calls, sends one context per call through the rest of the chain
    concurrently.

    Approval and ToolExecution see one call each; results return in call order; a call that waits for approval stays
    pending while the others continue. Calls of a later `batch` (ToolCall) begin when those of the earlier ones are
    settled. After an exception the siblings finish, then the first exception in call order is
    raised; what the contexts have settled is kept, also when the turn is cancelled. `ctx.tool_limiter` limits how many
    tools run at once (`Tools.MaxParallel`, 8) and runs serial tools alone; a call that waits for approval does not
    count.
    """

    zone = "inner"
    unique = True
    calls_next = True
    after = ("AgenticLoop",)
    settling_only = True
    before = ("Approval", "ToolExecution", "LlmInvoker")
    requires = ("ToolExecution",)
    acts = {"tool batch": "sends two or more calls of a reply through the rest of the chain at the same time"}

    async def __call__(self, ctx: Context, next: Next, /) -> None:
        if not ctx.settling or len(ctx.pending) < 2:
            await next(ctx)
            return
        later = ctx.pending
        while later:
            batch, later = split_first_batch(later)
            await _settle_batch(ctx, next, batch, later)
            if len(ctx.pending) > len(later) or ctx.response is not None:
                return


def split_first_batch(calls: list[ToolCall]) -> tuple[list[ToolCall], list[ToolCall]]:
    """Return the first calls with one `batch`, and the rest."""
    batch = calls[0].batch
    end = next((index for index, call in enumerate(calls) if call.batch != batch), len(calls))
    return calls[:end], calls[end:]


async def _settle_batch(ctx: Context, next: Next, batch: list[ToolCall], later: list[ToolCall]) -> None:
    contexts = [ctx.for_call(call) for call in batch]
    try:
        errors = await _run_contexts(contexts, next)
    finally:
        merge_contexts(ctx, contexts, later)
    for error in errors:
        if error is not None:
            raise error


def merge_contexts(ctx: Context, contexts: Sequence[Context], later: Sequence[ToolCall] = ()) -> None:
    """Merge results and pending calls in call order, `later` calls last; the first context with a response ends the
    turn.
    """
    ctx.pending = [*(call for context in contexts for call in context.pending), *later]
    for context in contexts:
        ctx.results.update(context.results)
        if ctx.response is None:
            ctx.response = context.response


async def _run_contexts(contexts: Sequence[Context], next: Next) -> list[Exception | None]:
    errors: list[Exception | None] = [None] * len(contexts)

    async def settle(index: int) -> None:
        try:
            async with contexts[index].cancellation.enforce():
                await next(contexts[index])
        except Exception as error:  # noqa: BLE001 - raised once the siblings have finished
            errors[index] = error

    # asyncio's TaskGroup costs a quarter of anyio's. No exception reaches it, so it raises no ExceptionGroup.
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(settle(index)) for index in range(len(contexts))]
        try:
            await asyncio.wait(tasks)
        except asyncio.CancelledError:
            for task in tasks:  # in call order; a TaskGroup cancels in no particular order
                task.cancel()
            raise
    for index, task in enumerate(tasks):
        if task.cancelled() and contexts[index].pending:
            errors[index] = ChainError(f"the branch of {contexts[index].pending[0].name} was cancelled from within")
    return errors
