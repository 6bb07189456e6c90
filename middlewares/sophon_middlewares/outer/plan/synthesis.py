"""Synthesis: the final model call of a plan, which answers the user from the steps' results."""

from sophon.context import Context
from sophon.messages import Message, Response
from sophon.plans import PlanProgress, synthesis_prompt
from sophon_middlewares.inner.llm_invoker import build_stream_listener, reset_stream
from sophon_middlewares.outer.plan.result_limits import result_character_limit


async def synthesise_response(ctx: Context, progress: PlanProgress) -> None:
    """Set the turn's response and append it to the messages; streams if the turn streams, and uses no tools.

    In a step that was itself planned, the answer belongs to the outer plan: its purpose is `step`, and like every step
    it does not stream. Raises ModelError, BudgetExceeded, MessageTooLarge.
    """
    prompt = synthesis_prompt(progress, limit=result_character_limit(ctx, len(progress.plan.steps)))
    reset_stream(ctx)
    answer = await ctx.complete(
        ctx.request(
            [*ctx.messages, Message("user", prompt, origin="hint")],
            purpose="step" if ctx.depth else "reply",
            on_text=build_stream_listener(ctx) if ctx.stream else None,
        )
    )
    ctx.messages.append(Message("assistant", answer.text))
    ctx.response = Response(answer.text, "length" if answer.finish_reason == "length" else "stop")
