"""Stage mark: the event of a published stage that several middlewares make up."""

from collections.abc import Mapping
from typing import Any

from sophon.chain.pipeline import Next
from sophon.context import Context
from sophon.context.stage_events import emit_stage
from sophon.events import Stage


class StageMark:
    """Emits `stage_completed` for a stage: on the way in, when what stands in front has prepared the turn, or on the
    way out with `leaves`, when what stands behind has ended. A plan step emits none.

    Data: number of `messages` and `tools` on the way in; `tool_rounds`, `fallback_attempts` and `finish_reason` on the
    way out.
    """

    zone = "outer"
    calls_next = True
    after = ("SessionEvents",)
    before = ("AgenticLoop", "LlmInvoker")

    def __init__(self, stage: Stage, *, leaves: bool = False) -> None:
        self._stage: Stage = stage
        self._leaves = leaves
        self.acts: Mapping[str, str] = {"turn": f"{stage} ends here{', on the way out' if leaves else ''}"}

    async def __call__(self, ctx: Context, next: Next, /) -> None:
        if not self._leaves and not ctx.depth:
            emit_stage(ctx, self._stage, messages=len(ctx.messages), tools=len(ctx.tools))
        if not self._leaves or ctx.depth:
            await next(ctx)
            return
        try:
            await next(ctx)
        except Exception:
            emit_stage(ctx, self._stage, **_describe_end(ctx, "error"))
            raise
        if ctx.response is not None:
            emit_stage(ctx, self._stage, **_describe_end(ctx, ctx.response.finish_reason))


def _describe_end(ctx: Context, finish_reason: str) -> dict[str, Any]:
    return {
        "tool_rounds": ctx.tally.tool_rounds,
        "fallback_attempts": ctx.tally.fallback_attempts,
        "finish_reason": finish_reason,
    }
