"""Stage mark: the event of a published stage that several middlewares make up."""

from collections.abc import Mapping

from sophon.chain.pipeline import Next
from sophon.context import Context
from sophon.events import Stage
from sophon.turn.stage_events import emit_stage


class StageMark:
    """Emits `stage_completed` for a stage, when what stands in front has prepared the turn. A plan step emits none.

    Data: number of `messages` and `tools`. A stage that is also timed is a `PublishedStage`.
    """

    zone = "outer"
    calls_next = True
    after = ("SessionEvents",)
    before = ("AgenticLoop", "LlmInvoker")

    def __init__(self, stage: Stage) -> None:
        self._stage: Stage = stage
        self.acts: Mapping[str, str] = {"turn": f"{stage} ends here"}

    async def __call__(self, ctx: Context, next: Next, /) -> None:
        if not ctx.depth:
            emit_stage(ctx, self._stage, messages=len(ctx.messages), tools=len(ctx.tools))
        await next(ctx)
