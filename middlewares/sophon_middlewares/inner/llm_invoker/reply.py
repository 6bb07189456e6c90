"""The turn's latest reply and its final response: what a chain that is entered again must replace, or repeat."""

from sophon.context import Context
from sophon.extensions import Key
from sophon.messages import Message, Response

LAST_REPLY: Key[tuple[Message, int]] = Key("reply.last")
"""The reply that was appended last, and the number of messages with it."""

FINAL_RESPONSE: Key[Response] = Key("reply.final")
"""Response with which a person, a guard or the loop detector ended the turn; no further model call may change it."""


def reply_id(ctx: Context) -> str:
    """Return the id of the current reply: the same if a restarted or retried round makes it again."""
    return f"{ctx.run_id}:{ctx.iteration}"


def append_reply(ctx: Context, message: Message) -> None:
    """Append a model's reply to the messages."""
    ctx.messages.append(message)
    ctx.put(LAST_REPLY, (message, len(ctx.messages)))


def withdraw_reply(ctx: Context) -> Message | None:
    """Remove the last reply if nothing has followed it, because a new one replaces it; return it.

    This happens when a middleware calls next again: the model then gets the same request, not its own earlier reply.
    """
    if not ctx.messages:
        return None
    last, (reply, end) = ctx.messages[-1], ctx.get(LAST_REPLY) or (None, 0)
    is_replaced = last.role == "assistant" and len(ctx.messages) == end  # a middleware has edited it
    if last is not reply and not is_replaced:
        return None
    ctx.messages.pop()
    ctx.pending = []
    return last


def end_turn(ctx: Context, response: Response) -> None:
    """Set the final response, which `restore_final_response` sets again if the chain is entered again."""
    ctx.response = response
    ctx.put(FINAL_RESPONSE, response)


def restore_final_response(ctx: Context) -> bool:
    """Set the final response again; return False if there is none."""
    final = ctx.get(FINAL_RESPONSE)
    if final is None:
        return False
    ctx.response = final
    return True
