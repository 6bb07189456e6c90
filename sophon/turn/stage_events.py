"""Events of the stages of classification, routing and learning."""

from typing import Any

from sophon.context import Context
from sophon.events import Stage, StageCompleted


def emit_stage(ctx: Context, stage: Stage, /, **data: Any) -> None:
    """Emit that a stage has done its part of the present model call."""
    if ctx.has_listeners:
        ctx.emit(StageCompleted(stage=stage, model_call=ctx.iteration + 1, data=data))
