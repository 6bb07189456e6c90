"""Redaction of what a tool call returned, before it is settled, journaled, recorded or read by a model."""

import logging

from sophon.context import Context
from sophon.extensions import Key
from sophon.messages import ToolCall, ToolCallOutcome, ToolResult
from sophon.security.redaction.key_search import holds_key
from sophon.tools.untrusted_text import ExternalText

_HAD_KEY: Key[set[str]] = Key("tool_execution.had_key")
"""Ids of the calls whose results held a key. Not stored: a result is judged in the transaction that stores it."""

log = logging.getLogger("sophon.tools")

WITHHELD = "error: the text is withheld, because its secrets could not be replaced"
"""Stands for a text whose redaction failed: it may hold a secret."""

MAX_INLINE_CHARACTERS = 50_000
"""A longer text is redacted in a worker thread, so that other turns go on."""


async def redact_result(
    ctx: Context, call: ToolCall, text: str, outcome: ToolCallOutcome
) -> tuple[str, ToolCallOutcome]:
    """Return a tool's result with its secrets replaced, if the turn has a redactor; a text from outside stays one.

    Notes whether there was a key among them (`had_key`).
    """
    if ctx.redactor is None:
        return text, outcome
    if len(text) > MAX_INLINE_CHARACTERS:
        shown, found = await ctx.services.clock.run_in_thread(lambda: _redact_and_search(ctx, text))
    else:
        shown, found = _redact_and_search(ctx, text)
    if found:
        _note_key(ctx, call)
    if shown is WITHHELD:
        return WITHHELD, "failed"
    return (ExternalText(shown) if isinstance(text, ExternalText) else shown), outcome


def had_key(ctx: Context, call: ToolCall, result: ToolResult) -> bool:
    """Return whether what the call has returned held a key, before it was redacted."""
    if ctx.redactor is None:
        return holds_key(result.text)
    return call.id in (ctx.get(_HAD_KEY) or ())


def _redact_and_search(ctx: Context, text: str) -> tuple[str, bool]:
    shown = redact_text(ctx, text)
    if shown is WITHHELD:  # nobody knows what it holds
        return shown, True
    # Few texts hold a secret, and of the others nothing is searched.
    return shown, shown != text and holds_key(str(text))


def _note_key(ctx: Context, call: ToolCall) -> None:
    found = ctx.get(_HAD_KEY)
    if found is None:
        found = set[str]()
        ctx.put(_HAD_KEY, found)
    found.add(call.id)


def redact_text(ctx: Context, text: str) -> str:
    """Return a text with its secrets replaced, if the turn has a redactor; `WITHHELD` if that fails."""
    if ctx.redactor is None:
        return text
    try:
        return ctx.redactor(str(text))
    except Exception:
        log.exception("a text could not be redacted, and is withheld")
        return WITHHELD
