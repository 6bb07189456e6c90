"""Empty replies: neither text nor a tool call. The model is asked again a few times, then the person is told."""

from collections.abc import Callable

from sophon.context import Context
from sophon.events import AgentStatus
from sophon.messages import Message, Response
from sophon.models.model import ModelRequest, ModelResponse
from sophon.visible_text import is_blank

EMPTY_REPLY_RETRIES = 2
"""Further calls after an empty reply, of the same turn and round; each is metered like any call."""

EMPTY_REPLY = "empty_reply"
"""`detail["reason"]` of a response that stands for an empty reply; its finish reason is `error`."""

RETRY_HINT = Message("user", "[Your last reply was empty. Write your answer as text.]", origin="hint")
"""Ends the request of a retry, and is not stored: a model that is asked the same gives the same."""


async def retry_empty_reply(
    ctx: Context,
    response: ModelResponse,
    build_request: Callable[[], ModelRequest],
    *,
    calls_allowed: bool,
    before_retry: Callable[[], None],
) -> ModelResponse:
    """Make a model call again while its reply is empty, `EMPTY_REPLY_RETRIES` times at most; return the last reply.

    A reply that is empty because the output limit was reached is not requested again: the limit would be the same.
    """
    for _ in range(EMPTY_REPLY_RETRIES):
        if not is_empty_reply(response, calls_allowed=calls_allowed) or response.finish_reason == "length":
            break
        before_retry()
        if ctx.has_listeners:
            ctx.emit(AgentStatus(status="retrying", detail="the model gave an empty reply"))
        request = build_request()
        request.messages.append(RETRY_HINT)
        response = await ctx.complete(request)
    return response


def is_empty_reply(response: ModelResponse, *, calls_allowed: bool) -> bool:
    """Return whether a reply has nothing for the user or the loop; calls count only where they may be made."""
    return not (calls_allowed and response.tool_calls) and is_blank(response.text)


def build_empty_response(response: ModelResponse) -> Response:
    """Return the response that tells the person of a reply which stayed empty."""
    if response.finish_reason == "length":
        text = "I could not answer: the model used up its output limit before it wrote any text."
    else:
        text = f"I could not answer: the model gave an empty reply {EMPTY_REPLY_RETRIES + 1} times."
    return Response(f"{text} Ask again, or choose another model.", "error", detail={"reason": EMPTY_REPLY})


def stands_for_empty_reply(response: Response) -> bool:
    """Return whether a response is one of `build_empty_response`."""
    return response.finish_reason == "error" and response.detail.get("reason") == EMPTY_REPLY
