"""Transport: the terminal of a chain whose stages run for each model call."""

from sophon.chain.pipeline import Next
from sophon.context import Context
from sophon.models.model import Call, ModelRequest, ModelResponse
from sophon.turn.stage_events import emit_stage
from sophon_middlewares.inner.llm_invoker.llm_invoker import LlmInvoker


class Transport(LlmInvoker):
    """`LlmInvoker` that reports each answer of a provider.

    Data of the event: `model`, `duration_ms`, `output_tokens` and `tool_calls`; an attempt that fails is in the trace
    as `model_attempt`. Source: clawft, transport.
    """

    acts = {"model call": f"transport: {LlmInvoker.acts['model call']}"}

    async def __call__(self, ctx: Context, next: Next, /) -> None:
        clock = ctx.services.clock

        async def report(request: ModelRequest, call: Call) -> ModelResponse:
            started_at = clock.monotonic()
            response = await call(request)
            emit_stage(
                ctx,
                "transport",
                model=request.model.id,
                duration_ms=round((clock.monotonic() - started_at) * 1000),
                output_tokens=response.usage.output_tokens if response.usage is not None else 0,
                tool_calls=len(response.tool_calls),
            )
            return response

        with ctx.call_layer(report):
            await super().__call__(ctx, next)
