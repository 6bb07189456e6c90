"""Settles several calls of one reply at once."""

import asyncio
from collections.abc import Sequence

from sophon.context import Context
from sophon.pipeline import Next


class ParallelExecution:
    """In a settling pass with two or more pending calls: one branch per call goes through the rest at the same time.

    Approval and ToolExecution see one call each; results return in call order; a call that waits for a person stays
    pending and the others go on. An exception lets the siblings finish and then leaves as itself, the first in call
    order. How many tools run at once, and that a serial tool runs alone, is the business of `ctx.places`
    (`Tools.MaxParallel`, 8), which nobody holds while waiting for a person.
    """

    zone = "inner"
    unique = True
    after = ("AgenticLoop",)
    before = ("Approval", "ToolExecution", "LlmInvoker")
    requires = ("ToolExecution",)
    acts = {"tool batch": "sends two or more calls of a reply through the rest of the chain at the same time"}

    async def __call__(self, ctx: Context, next: Next, /) -> None:
        if not ctx.settling or len(ctx.pending) < 2:
            await next(ctx)
            return
        branches = [ctx.branch(call) for call in ctx.pending]
        errors = await _all(branches, next)
        merge(ctx, branches)
        for error in errors:
            if error is not None:
                raise error


def merge(ctx: Context, branches: Sequence[Context]) -> None:
    """Results and what is still pending, in call order; the first branch that ended the turn has ended it."""
    ctx.pending = [call for branch in branches for call in branch.pending]
    for branch in branches:
        ctx.results.update(branch.results)
        if ctx.response is None:
            ctx.response = branch.response


async def _all(branches: Sequence[Context], next: Next) -> list[Exception | None]:
    errors: list[Exception | None] = [None] * len(branches)

    async def settle(index: int) -> None:
        try:
            await next(branches[index])
        except Exception as error:  # noqa: BLE001 - kept, and raised once the siblings have finished
            errors[index] = error

    # asyncio's own group: a quarter of the price of anyio's. No exception reaches it, so none leaves it as a group.
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(settle(index)) for index in range(len(branches))]
        try:
            await asyncio.wait(tasks)
        except asyncio.CancelledError:
            for task in tasks:  # in call order: the group would cancel them in no order at all
                task.cancel()
            raise
    return errors
