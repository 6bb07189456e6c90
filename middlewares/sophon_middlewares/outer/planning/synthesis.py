"""Synthesis: the final model call of a plan, which answers the user from the steps' results."""

from functools import partial

from sophon.context import Context
from sophon.context.reply_stream import build_stream_listener
from sophon.messages import Message, Response
from sophon.models.model import ModelRequest
from sophon.plans import PlanProgress, synthesis_prompt
from sophon_middlewares.inner.llm_invoker.llm_invoker import reset_stream
from sophon_middlewares.inner.llm_invoker.reply import (
    append_reply,
    build_empty_response,
    build_reasoning_listener,
    emit_reasoning,
    is_empty_reply,
    reasoning_from_response,
    retry_empty_reply,
    withdraw_reply,
)

WINDOW_SHARE = 0.5
"""Share of the smallest window on the route; the rest is for instructions, the conversation and the answer."""

CHARACTERS_PER_TOKEN = 3

MIN_CHARACTERS = 200


async def synthesise_response(ctx: Context, progress: PlanProgress) -> None:
    """Set the turn's response and append it to the messages; streams if the turn streams, and uses no tools.

    Called again, it replaces its previous answer. In a step that was itself planned, the answer belongs to the outer
    plan: its purpose is `step`, and like every step it does not stream. An empty answer is requested again, then the
    response says so. Raises ModelError, BudgetExceeded, MessageTooLarge.
    """
    withdraw_reply(ctx)
    prompt = synthesis_prompt(progress, limit=result_character_limit(ctx, len(progress.plan.steps)))
    reset_stream(ctx)
    build_request = partial(_build_request, ctx, prompt)
    answer = await retry_empty_reply(
        ctx,
        await ctx.complete(build_request()),
        build_request,
        calls_allowed=False,
        before_retry=partial(reset_stream, ctx),
    )
    if is_empty_reply(answer, calls_allowed=False):
        ctx.response = build_empty_response(answer)
    else:
        emit_reasoning(ctx, answer)
        ctx.response = Response(answer.text, "length" if answer.finish_reason == "length" else "stop")
    append_reply(ctx, Message("assistant", ctx.response.text, reasoning=reasoning_from_response(answer, ())))


def _build_request(ctx: Context, prompt: str) -> ModelRequest:
    return ctx.request(
        [*ctx.messages, Message("user", prompt, origin="hint")],
        purpose="step" if ctx.depth else "reply",
        on_text=build_stream_listener(ctx) if ctx.stream else None,
        on_reasoning=build_reasoning_listener(ctx) if ctx.stream and ctx.has_listeners else None,
    )


def result_character_limit(ctx: Context, results: int) -> int:
    """Return the characters per result for `results` results in one prompt, at most the limit of a tool result."""
    route = ctx.route if ctx.route is not None else ctx.services.gateway.candidates()
    most = ctx.services.settings.tools.max_result_characters
    window = min((candidate.info.context_window for candidate in route), default=0)
    return divide_window(window, results, most) if window else most


def divide_window(window: int, results: int, max_characters: int) -> int:
    """Divide half the window (in tokens, 3 characters each) equally; the result is between 200 and `max_characters`."""
    share = int(window * WINDOW_SHARE * CHARACTERS_PER_TOKEN) // max(results, 1)
    return min(max_characters, max(MIN_CHARACTERS, share))
