"""What the transcript says of tool calls that a turn's end left without a result."""

from collections.abc import Sequence

from sophon.context import Context
from sophon.messages import Message, ToolCall
from sophon.stores.contracts import JournalEntry
from sophon.transcript import LOST_RESULT

NOT_RUN = "error: not run, because the turn ended"


async def close_round(ctx: Context) -> None:
    """A turn that ended between calls and their results keeps what is known of these: they may have had effects."""
    last = ctx.messages[-1] if ctx.messages else None
    if last is None or (last.role != "tool" and not last.tool_calls):
        return  # the everyday end: a reply without calls
    calls = left_open(ctx.messages[ctx.recorded_upto() :])
    if not calls:
        return
    journal = await ctx.services.store.journal.entries(ctx.run_id)
    for call in calls:
        ctx.messages.append(Message("tool", _known_of(ctx, call, journal.get(call.id)), tool_call_id=call.id))


def left_open(messages: Sequence[Message]) -> list[ToolCall]:
    """The calls at the end of a transcript that have no result yet."""
    answered: set[str | None] = set()
    for message in reversed(messages):
        if message.role != "tool":
            return [call for call in message.tool_calls if call.id not in answered]
        answered.add(message.tool_call_id)
    return []


def _known_of(ctx: Context, call: ToolCall, entry: JournalEntry | None) -> str:
    result = ctx.results.get(call.id) or (entry.result if entry is not None else None)
    if result is not None:
        return result.text
    return NOT_RUN if entry is None else LOST_RESULT
