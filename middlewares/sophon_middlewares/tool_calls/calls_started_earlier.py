"""Calls of a resumed turn that an earlier process has started: they are neither asked about nor run again."""

from sophon.context import Context
from sophon.extensions import Key
from sophon.messages import ToolCall
from sophon.stores.tool_call_journal.contract import JournalEntry

_JOURNAL: Key[dict[str, JournalEntry]] = Key("tool_execution.journal")


async def find_earlier_run(ctx: Context, call: ToolCall) -> JournalEntry | None:
    """Return the journal entry of a call that must not run again; None if it may run.

    An idempotent call without a result may run again. The entry counts whatever has changed since: the tool may be
    gone, or the approval may no longer hold, and yet the call has run.
    """
    if not ctx.resumed:
        return None
    journal = ctx.get(_JOURNAL)
    if journal is None:
        journal = await ctx.services.store.journal.load_entries(ctx.run_id)
        ctx.put(_JOURNAL, journal)
    entry, tool = journal.get(call.id), ctx.services.registry.get(call.name)
    if entry is None or (entry.result is None and tool is not None and tool.idempotent):
        return None
    return entry
