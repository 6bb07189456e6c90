"""Completion of a turn's response: its usage and counts, the texts before it, and the end of its stream."""

from sophon.context.context import Context
from sophon.context.reply_stream import complete_stream
from sophon.errors import ChainError
from sophon.messages import Response
from sophon.reply_text import collect_earlier_texts


def complete_response(ctx: Context) -> Response:
    """Return the turn's response, completed with usage and, in a streaming turn, streamed; idempotent.

    Raises ChainError if no middleware has set a response.
    """
    if ctx.response is None:
        if ctx.pipeline is None:
            raise ChainError(f"the turn ended in {ctx.current_middleware} with no response")
        raise ChainError(ctx.pipeline.explain_missing_response(ctx))
    ctx.next_error = None
    response, usage = ctx.response, ctx.tally.usage
    if not isinstance(response, Response) or not isinstance(response.text, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ChainError(f"ctx.response is {response!r:.60}: a middleware sets ctx.response = Response(text)")
    if ctx.cancellation.is_end_recorded and response.usage is usage:
        return response  # concluded before its end was recorded
    earlier = [] if response.finish_reason == "suspended" else collect_earlier_texts(ctx.messages)
    rounds, attempts, model = ctx.tally.tool_rounds, ctx.tally.fallback_attempts, ctx.tally.model
    if (
        response.usage is not usage
        or response.earlier_texts != earlier
        or response.tool_rounds != rounds
        or response.fallback_attempts != attempts
        or response.model != model
    ):
        response = ctx.response = response.copy_with(
            usage=usage, earlier_texts=earlier, tool_rounds=rounds, fallback_attempts=attempts, model=model
        )
    if ctx.stream and not ctx.depth and response.finish_reason != "suspended":
        complete_stream(ctx, response.text)
    return response
