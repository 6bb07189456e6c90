"""Context assembler: the context window of a chain whose stages run for each model call."""

from collections.abc import Mapping
from typing import ClassVar

from sophon.chain.pipeline import Next
from sophon.context import Context
from sophon.extensions import Key
from sophon.models.model import Call, ModelRequest, ModelResponse
from sophon.turn.stage_events import emit_stage
from sophon_middlewares.outer.context_window.context_window import ContextWindow
from sophon_middlewares.outer.context_window.request_fitting import ContextWindowLayer

WINDOW_LAYER: Key[ContextWindowLayer] = Key("assembler.window_layer")
"""The turn's layer of ContextWindow, which counts only what is new since the last call."""


class Assembler(ContextWindow):
    """`ContextWindow` behind ToolExecution, where it is set up for each model call, and reports what it assembled.

    Data of the event: number of `messages`, the `model` that they are for, whether some were `dropped`. Source:
    clawft, TokenBudgetAssembler.
    """

    acts: ClassVar[Mapping[str, str]] = {
        "model call": f"assembler: {ContextWindow.acts['model call']}",
    }

    async def __call__(self, ctx: Context, next: Next, /) -> None:
        layer = ctx.get(WINDOW_LAYER)
        if layer is None:
            layer = ContextWindowLayer(ctx, self.options, self.breaker)
            ctx.put(WINDOW_LAYER, layer)

        async def report(request: ModelRequest, call: Call) -> ModelResponse:
            dropped = len(request.messages) < len(ctx.messages)
            emit_stage(ctx, "assembler", messages=len(request.messages), model=request.model.id, dropped=dropped)
            return await call(request)

        with ctx.call_layer(layer), ctx.call_layer(report):
            await next(ctx)
