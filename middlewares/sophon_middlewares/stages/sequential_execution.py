"""Sequential execution: settles the calls of one reply one after the other."""

from sophon.chain.pipeline import Next
from sophon.context import Context


class SequentialExecution:
    """In a settling pass with two or more pending calls, sends each through the rest of the chain before the next.

    So a call is judged, asked about and run before the next one is judged: a guard sees what the earlier calls have
    read. A call that waits for approval, and a response, end the pass; the calls behind it stay pending. Source:
    OpenParallax, tool proposals.
    """

    zone = "inner"
    unique = True
    calls_next = True
    provides = ("ParallelExecution",)
    after = ("AgenticLoop",)
    settling_only = True
    before = ("Approval", "ToolExecution", "LlmInvoker")
    requires = ("ToolExecution",)
    acts = {"tool batch": "sends the calls of a reply through the rest of the chain one after the other"}

    async def __call__(self, ctx: Context, next: Next, /) -> None:
        if not ctx.settling or len(ctx.pending) < 2:
            await next(ctx)
            return
        later = ctx.pending
        while later and ctx.response is None:
            ctx.pending, later = later[:1], later[1:]
            try:
                await next(ctx)
            finally:
                waits = bool(ctx.pending)
                ctx.pending = [*ctx.pending, *later]
            if waits:
                return
