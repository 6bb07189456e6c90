"""Settles tool calls that have no result when a turn ends, so that the transcript stays valid."""

from collections.abc import Sequence

from sophon.context import Context
from sophon.context.provenance import note_fenced_result
from sophon.messages import Message, ToolCall
from sophon.stores.tool_call_journal.contract import JournalEntry
from sophon.tools.result_limit import limit_result
from sophon.transcript_validation import LOST_RESULT_TEXT
from sophon_middlewares.inner.tool_limits import max_result_characters

NOT_RUN_RESULT = "error: not run, because the turn ended"


async def settle_unfinished_calls(ctx: Context) -> None:
    """Append a result for every unanswered call, from the journal where it is known: the calls may have had effects."""
    last = ctx.messages[-1] if ctx.messages else None
    if last is None or (last.role != "tool" and not last.tool_calls):
        return  # fast path: a reply without calls
    calls = find_unfinished_calls(ctx.messages[ctx.count_recorded() :])
    if not calls:
        return
    journal = await ctx.services.store.journal.load_entries(ctx.run_id)
    for call in calls:
        text = limit_result(_result_text(ctx, call, journal.get(call.id)), max_result_characters(ctx, call))
        note_fenced_result(ctx, call, text)
        ctx.messages.append(Message("tool", text, tool_call_id=call.id))


def find_unfinished_calls(messages: Sequence[Message]) -> list[ToolCall]:
    """Return the calls at the end of a transcript that have no result."""
    answered: set[str | None] = set()
    for message in reversed(messages):
        if message.role != "tool":
            return [call for call in message.tool_calls if call.id not in answered]
        answered.add(message.tool_call_id)
    return []


def _result_text(ctx: Context, call: ToolCall, entry: JournalEntry | None) -> str:
    result = ctx.results.get(call.id) or (entry.result if entry is not None else None)
    if result is not None:
        return result.text
    return NOT_RUN_RESULT if entry is None else LOST_RESULT_TEXT
